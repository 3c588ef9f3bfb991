import { Title } from '@mantine/core';
import { Link, Navigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Organizations } from '../../documents.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { Frame } from '../../shell/frame.tsx';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';

/** The organisations of a person; with one, its projects at once. */
export function StartPage() {
  const { t } = useTranslation('start');
  const { data, fault, refresh } = usePageQuery({ query: Organizations, variables: {} });
  const organizations = data?.organizations?.nodes;
  const [only, ...others] = organizations ?? [];
  if (only && others.length === 0)
    return <Navigate to="/o/$organization" params={{ organization: only.machine_name }} replace />;
  return (
    <Frame>
      <Title order={1}>{t('title')}</Title>
      {fault && !organizations && <Failure fault={fault} onRetry={refresh} />}
      {!fault && !organizations && <Waiting />}
      {organizations?.length === 0 && <Notice title={t('none')}>{t('none_lead')}</Notice>}
      <ul>
        {organizations?.map(({ name, machine_name }) => (
          <li key={machine_name}>
            <Link to="/o/$organization" params={{ organization: machine_name }}>
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </Frame>
  );
}

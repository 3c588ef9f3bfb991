import { Text, Title } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { Link, Navigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { usePageQuery } from '../../lib/page-query.ts';
import { useViewer } from '../../lib/viewer.tsx';
import { Frame } from '../../shell/frame.tsx';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import classes from './start-page.module.css';
import { startQuery } from './start-query.ts';

/** Where a person can begin. With one organisation, its projects at once. */
export function StartPage() {
  const { t } = useTranslation('start');
  const { me } = useViewer();
  const { data, fault, refresh } = usePageQuery(startQuery());
  const organizations = data?.organizations?.nodes;
  const [only, ...others] = organizations ?? [];
  if (only && others.length === 0)
    return <Navigate to="/o/$organization" params={{ organization: only.machine_name }} search={{}} replace />;
  return (
    <Frame>
      <div className={classes.page}>
        <Title order={1}>{t('welcome', { name: me?.name ?? '' })}</Title>
        <Text c="dimmed" mb="lg">
          {organizations?.length !== 0 && t('lead')}
        </Text>
        {fault && !organizations && <Failure fault={fault} onRetry={refresh} />}
        {!fault && !organizations && <Waiting rows={3} />}
        {organizations?.length === 0 && <Notice title={t('none')}>{t('none_lead')}</Notice>}
        {organizations && organizations.length > 0 && (
          <ul className={classes.organizations} aria-label={t('title')}>
            {organizations.map(({ name, machine_name }) => (
              <li key={machine_name}>
                <Link
                  to="/o/$organization"
                  params={{ organization: machine_name }}
                  search={{}}
                  className={classes.organization}
                >
                  <span className={classes.name} dir="auto">
                    {name}
                  </span>
                  <IconChevronRight size={16} />
                </Link>
              </li>
            ))}
          </ul>
        )}
      </div>
    </Frame>
  );
}

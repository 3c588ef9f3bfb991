/** An environment: what is live in it, how it is built and shown, and what was deployed to it. */
import { Alert, Anchor, Group, Text, Title } from '@mantine/core';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useLive } from '../../../lib/live.ts';
import { usePageQuery } from '../../../lib/page-query.ts';
import { usePlace } from '../../../lib/place.ts';
import { useCan } from '../../../lib/viewer.tsx';
import { FaultAlert } from '../../../parts/fault-alert.tsx';
import { Mark } from '../../../parts/mark.tsx';
import { MarkedText } from '../../../parts/marked-text.tsx';
import { Failure, Waiting } from '../../../shell/states.tsx';
import { DeploymentList } from '../deployment-list.tsx';
import classes from '../site.module.css';
import { environmentQuery } from '../site-query.ts';
import { EnvironmentActions, useDeploy } from './actions.tsx';
import { BuildSection } from './build-section.tsx';
import { EnvironmentFacts } from './environment-facts.tsx';
import { GeneralSection } from './general-section.tsx';
import { RemovalSection } from './removal-section.tsx';
import { VariablesSection } from './variables-section.tsx';

export function EnvironmentPage() {
  const { t } = useTranslation(['environment', 'site']);
  const { organization, project } = usePlace();
  const id = Number(useParams({ from: '/inside/p/$organization/$project/site/environments/$environment' }).environment);
  const can = useCan(organization, project);
  const { after } = useSearch({ from: '/inside/p/$organization/$project/site/environments/$environment' });
  const { data, fault, refresh } = usePageQuery(environmentQuery({ organization, project }, id, after));
  useLive(['deployment'], refresh);
  const environment = data?.project?.studio.environment;
  const deploy = useDeploy(environment ?? undefined);
  if (!environment) return fault ? <Failure fault={fault} onRetry={refresh} order={1} /> : <Waiting rows={12} />;
  const shared = { organization, project, environment, onChanged: refresh };
  const { deployments } = environment;
  return (
    <>
      <Anchor
        size="sm"
        className={classes.up ?? ''}
        renderRoot={(props) => (
          <Link to="/p/$organization/$project/site" params={{ organization, project }} {...props} />
        )}
      >
        {t('site:title')}
      </Anchor>
      <Group justify="space-between" mb="lg" gap="sm">
        <Group gap="sm" className={classes.heading ?? ''}>
          <Title order={1}>
            <MarkedText text={environment.name} />
          </Title>
          <Mark>{t(`type_${environment.type}`)}</Mark>
        </Group>
        <Group gap="xs">
          <EnvironmentActions environment={environment} deploy={deploy} />
        </Group>
      </Group>
      <FaultAlert fault={deploy.fault} />
      {environment.draft_preview ? (
        <Alert mb="lg">{t('draft_preview')}</Alert>
      ) : (
        !can('manage_studio') && (
          <Alert mb="lg" color="yellow">
            {t('read_only')}
          </Alert>
        )
      )}
      <div className={classes.live}>
        <EnvironmentFacts environment={environment} />
      </div>
      <Title order={2} mb="sm">
        {t('site:deployments')}
      </Title>
      {deployments && deployments.total_count > 0 ? (
        <DeploymentList deployments={deployments} after={after} environments={environment} />
      ) : (
        <Text c="dimmed">{t('no_deployments')}</Text>
      )}
      <div className={classes.sections}>
        {!environment.draft_preview && (
          <>
            <GeneralSection {...shared} />
            <BuildSection {...shared} />
            <VariablesSection {...shared} />
          </>
        )}
        {can('manage_studio') && <RemovalSection {...shared} />}
      </div>
    </>
  );
}

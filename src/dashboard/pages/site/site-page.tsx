/** Where the site is shown, what is live there, and what was deployed lately. */
import { Button, Group, Text, Title } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { ShownEnvironmentFragment } from '../../documents.ts';
import { useLive } from '../../lib/live.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { projectQuery } from '../../shell/project-query.ts';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import { DeploymentList } from './deployment-list.tsx';
import { EnvironmentActions, useDeploy } from './environment/actions.tsx';
import { EnvironmentFacts } from './environment/environment-facts.tsx';
import { NewEnvironment } from './environment/new-environment.tsx';
import { PreviewDraft } from './preview-draft.tsx';
import classes from './site.module.css';
import { previewsQuery, siteQuery } from './site-query.ts';

function EnvironmentCard({ environment }: { environment: ShownEnvironmentFragment }) {
  const { t } = useTranslation('site');
  const { organization, project } = usePlace();
  const deploy = useDeploy(environment);
  const { id, name, branch } = environment;
  const params = { organization, project, environment: String(id) };
  return (
    <li className={classes.card}>
      <Group justify="space-between" gap="sm">
        <div className={classes.heading}>
          <Title order={2}>
            <Link to="/p/$organization/$project/site/environments/$environment" params={params}>
              <MarkedText text={name} />
            </Link>
          </Title>
          <Text size="sm" c="dimmed">
            {branch ? t('branch', { name: branch.name }) : t('branch_gone')}
          </Text>
        </div>
        <Group gap="xs">
          <EnvironmentActions environment={environment} deploy={deploy} />
        </Group>
      </Group>
      <FaultAlert fault={deploy.fault} />
      <EnvironmentFacts environment={environment} />
    </li>
  );
}

export function SitePage() {
  const { t } = useTranslation('site');
  const place = usePlace();
  const { organization, project } = place;
  const can = useCan(organization, project);
  const { new: isAdding = false, after } = useSearch({ from: '/inside/p/$organization/$project/site' });
  const { data, fault, refresh: refreshSite } = usePageQuery(siteQuery(place, after));
  const { data: previewed, refresh: refreshPreviews } = usePageQuery(previewsQuery(place));
  const frame = usePageQuery(projectQuery(place)).data?.project?.studio;
  const navigate = useNavigate();
  const setAdding = (isOpen: boolean) =>
    navigate({ to: '.', search: (before) => ({ ...before, new: isOpen || undefined }), replace: true });
  const refresh = () => {
    refreshSite();
    refreshPreviews();
  };
  useLive(['deployment'], refresh);
  const studio = data?.project?.studio;
  const previews = previewed?.project?.studio.environments;
  const environments = studio?.environments ? [...studio.environments.nodes, ...(previews?.nodes ?? [])] : undefined;
  const isShown = environments?.some(({ branch }) => branch?.name === place.draft);
  const deployments = studio?.deployments;
  const add = can('manage_studio') && (
    <Button
      variant={environments?.length === 0 ? 'filled' : 'default'}
      leftSection={<IconPlus size={16} />}
      onClick={() => setAdding(true)}
    >
      {t('new_environment')}
    </Button>
  );
  return (
    <>
      <Group justify="space-between" mb="lg">
        <Title order={1}>{t('title')}</Title>
        {environments && environments.length > 0 && add}
      </Group>
      {place.draft !== undefined && previews && environments && environments.length > 0 && !isShown && (
        <PreviewDraft draft={place.draft} onBegun={refresh} />
      )}
      {fault && !environments && <Failure fault={fault} onRetry={refresh} />}
      {!fault && !environments && <Waiting />}
      {environments?.length === 0 && (
        <Notice title={t('none')} action={add}>
          {t('none_lead')} {can('manage_studio') && t('none_first')}
        </Notice>
      )}
      {environments && environments.length > 0 && (
        <ul className={classes.cards} aria-label={t('environments')}>
          {environments.map((environment) => (
            <EnvironmentCard key={environment.id} environment={environment} />
          ))}
        </ul>
      )}
      {deployments && deployments.total_count > 0 && (
        <>
          <Title order={2} mt="xl" mb="sm">
            {t('deployments')}
          </Title>
          <DeploymentList deployments={deployments} after={after} environments={environments ?? []} />
        </>
      )}
      {isAdding && can('manage_studio') && frame?.repository && (
        <NewEnvironment
          at={{ organization, project }}
          published={frame.repository.default_branch}
          onClose={() => setAdding(false)}
          onDone={() => {
            setAdding(false);
            refresh();
          }}
        />
      )}
    </>
  );
}

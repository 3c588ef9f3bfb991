/** Where the site is shown, what is live there, and what was deployed lately. */
import { Button, Group, Text, Title } from '@mantine/core';
import { IconExternalLink, IconPlus, IconRocket } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { EnvironmentPreview, type SiteQuery, StartDeployment } from '../../documents.ts';
import { client } from '../../lib/client.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { useLive } from '../../lib/live.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Facts } from '../../parts/facts.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { List, ListRow } from '../../parts/list.tsx';
import { projectQuery } from '../../shell/project-query.ts';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import { DeploymentMark } from './deployment-mark.tsx';
import { followDeployment } from './deployment-task.ts';
import { NewEnvironment } from './new-environment.tsx';
import classes from './site.module.css';
import { siteQuery } from './site-query.ts';

type Studio = NonNullable<NonNullable<SiteQuery['project']>['studio']>;
type Environment = NonNullable<Studio['environments']>['nodes'][number];

function EnvironmentCard({ environment }: { environment: Environment }) {
  const { t } = useTranslation('site');
  const { organization, project } = usePlace();
  const { ago } = useFormats();
  const can = useCan(organization, project);
  const navigate = useNavigate();
  const start = useCommand(StartDeployment);
  const { published, latest_deployment: latest, branch } = environment;
  const at = { organization, project };
  const deploy = async () => {
    const { data } = await start.run({ ...at, input: { environment_id: environment.id } });
    const begun = data?.startDeployment;
    if (!begun) return;
    followDeployment({ ...at, ...begun });
    const params = { ...at, deployment: String(begun.id) };
    await navigate({ to: '/p/$organization/$project/site/deployments/$deployment', params });
  };
  const open = async () => {
    // Opened at the click, since a window that comes later is blocked; the address is known after that.
    const tab = window.open('', '_blank');
    const variables = { ...at, environment: environment.id };
    const answer = await client.query(EnvironmentPreview, variables, { requestPolicy: 'network-only' }).toPromise();
    const url = answer.data?.project?.studio.environment?.preview?.url ?? environment.url;
    if (tab && url) tab.location.href = url;
    else tab?.close();
  };
  return (
    <li className={classes.card}>
      <Group justify="space-between" gap="sm">
        <div>
          <Title order={2} dir="auto">
            {environment.name}
          </Title>
          <Text size="sm" c="dimmed">
            {t('branch', { name: branch?.name ?? t('branch_gone') })}
          </Text>
        </div>
        <Group gap="xs">
          {published && (
            <Button
              variant="default"
              leftSection={<IconExternalLink size={16} />}
              onClick={() => void open()}
              aria-label={t('open_of', { name: environment.name })}
            >
              {t('open')}
            </Button>
          )}
          {can('edit_studio') && (
            <Button
              leftSection={<IconRocket size={16} />}
              onClick={() => void deploy()}
              loading={start.isRunning}
              disabled={!branch}
            >
              {t('deploy')}
            </Button>
          )}
        </Group>
      </Group>
      <FaultAlert fault={start.fault} />
      <Facts>
        <dt>{t('live')}</dt>
        <dd>
          {published ? (
            <>
              <bdi>{published.title}</bdi> <code title={published.commit_sha}>{published.commit_sha.slice(0, 7)}</code>
              {published.completed_at && ` · ${ago(published.completed_at)}`}
            </>
          ) : (
            t('nothing_live')
          )}
        </dd>
        {latest && (
          <>
            <dt>{t('latest')}</dt>
            <dd>
              <Group gap="xs">
                <Link
                  to="/p/$organization/$project/site/deployments/$deployment"
                  params={{ ...at, deployment: String(latest.id) }}
                >
                  {t('deployment', { number: latest.run_number })}
                </Link>
                <DeploymentMark status={latest.status} conclusion={latest.conclusion} />
              </Group>
            </dd>
          </>
        )}
      </Facts>
    </li>
  );
}

function Deployments({ deployments }: { deployments: NonNullable<Studio['deployments']>['nodes'] }) {
  const { t } = useTranslation('site');
  const { organization, project } = usePlace();
  const { ago, duration } = useFormats();
  if (deployments.length === 0) return null;
  return (
    <>
      <Title order={2} mt="xl" mb="sm">
        {t('deployments')}
      </Title>
      <List label={t('deployments')} columns={[t('version'), t('environment'), t('state'), t('begun'), t('took')]}>
        {deployments.map((deployment) => (
          <ListRow
            key={deployment.id}
            cells={[
              <Link
                key="version"
                to="/p/$organization/$project/site/deployments/$deployment"
                params={{ organization, project, deployment: String(deployment.id) }}
                dir="auto"
              >
                #{deployment.run_number} {deployment.title}
              </Link>,
              <bdi key="environment">{deployment.environment?.name}</bdi>,
              <DeploymentMark key="state" status={deployment.status} conclusion={deployment.conclusion} />,
              ago(deployment.created_at),
              deployment.duration_ms === null ? '–' : duration(deployment.duration_ms),
            ]}
          />
        ))}
      </List>
    </>
  );
}

export function SitePage() {
  const { t } = useTranslation('site');
  const place = usePlace();
  const { organization, project } = place;
  const can = useCan(organization, project);
  const { data, fault, refresh } = usePageQuery(siteQuery(place));
  const frame = usePageQuery(projectQuery(place)).data?.project?.studio;
  const [isAdding, setAdding] = useState(false);
  useLive(['deployment'], refresh);
  const studio = data?.project?.studio;
  const environments = studio?.environments?.nodes;
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
      {fault && !environments && <Failure fault={fault} onRetry={refresh} />}
      {!fault && !environments && <Waiting />}
      {environments?.length === 0 && (
        <Notice title={t('none')} action={add}>
          {t('none_lead')}
        </Notice>
      )}
      {environments && environments.length > 0 && (
        <ul className={classes.cards} aria-label={t('environments')}>
          {environments.map((environment) => (
            <EnvironmentCard key={environment.id} environment={environment} />
          ))}
        </ul>
      )}
      <Deployments deployments={studio?.deployments?.nodes ?? []} />
      {isAdding && frame?.repository && (
        <NewEnvironment
          at={{ organization, project }}
          published={frame.repository.default_branch}
          branches={frame.branches?.nodes.map(({ name }) => name) ?? []}
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

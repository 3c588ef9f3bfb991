import { Button, Progress, Skeleton } from '@mantine/core';
import {
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconDownload,
  IconGitBranch,
  IconRefresh,
} from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { ProjectStates, type ProjectStatesQuery } from '../../documents.ts';
import { useFormats } from '../../lib/format.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePolling } from '../../lib/polling.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import { NewProject } from './new-project.tsx';
import classes from './organization.module.css';
import { type TabProps, tabQueries } from './organization-query.ts';

type State = NonNullable<
  NonNullable<NonNullable<ProjectStatesQuery['organization']>['projects']>['nodes'][number]['studio']
>;

const isImporting = (state: State | undefined): boolean => {
  const importing = state?.repository?.import?.state;
  return importing === 'queued' || importing === 'running';
};

function Fact({ tone, icon, children }: { tone?: 'good' | 'warn' | 'bad'; icon: ReactNode; children: ReactNode }) {
  return (
    <li className={classes.fact} data-tone={tone}>
      {icon}
      <span>{children}</span>
    </li>
  );
}

/** What is live, or on its way. */
function DeploymentFact({ state }: { state: State }) {
  const { t } = useTranslation('organization');
  const { ago } = useFormats();
  const deployment = state.latest_deployment;
  if (!deployment) return <Fact icon={<IconCircleDashed size={16} />}>{t('not_deployed')}</Fact>;
  const when = ago(deployment.created_at);
  if (deployment.status !== 'completed') return <Fact icon={<IconRefresh size={16} />}>{t('deploying')}</Fact>;
  if (deployment.conclusion === 'success')
    return (
      <Fact tone="good" icon={<IconCircleCheck size={16} />}>
        {t('deployed', { when })}
      </Fact>
    );
  if (deployment.conclusion === 'failure')
    return (
      <Fact tone="bad" icon={<IconCircleX size={16} />}>
        {t('deployment_failed', { when })}
      </Fact>
    );
  return <Fact icon={<IconCircleDashed size={16} />}>{t('deployment_cancelled', { when })}</Fact>;
}

function ImportFact({ state }: { state: State }) {
  const { t } = useTranslation('organization');
  const importing = state.repository?.import;
  if (importing?.state === 'failed')
    return (
      <Fact tone="bad" icon={<IconCircleX size={16} />}>
        {t('import_failed', { message: importing.message ?? '' })}
      </Fact>
    );
  if (!importing || !isImporting(state)) return null;
  const share = importing.total_objects > 0 ? importing.received_objects / importing.total_objects : null;
  return (
    <li>
      <div className={classes.fact}>
        <IconDownload size={16} />
        <span>{t('importing')}</span>
      </div>
      <Progress value={(share ?? 1) * 100} animated={share === null} size="sm" aria-label={t('importing')} mt={4} />
    </li>
  );
}

function Facts({ state }: { state: State }) {
  const { t } = useTranslation('organization');
  const faults = state.collections?.nodes.reduce((sum, { invalid_count }) => sum + invalid_count, 0) ?? 0;
  return (
    <ul className={classes.facts}>
      {state.repository && (
        <li className={classes.fact} title={t('default_branch_title')}>
          <IconGitBranch size={16} aria-hidden="true" />
          <span className="unseen">{t('default_branch')}</span>
          <bdi>{state.repository.default_branch}</bdi>
        </li>
      )}
      {!isImporting(state) && <DeploymentFact state={state} />}
      {faults > 0 && (
        <Fact tone="warn" icon={<IconAlertTriangle size={16} />}>
          {t('invalid_entries', { count: faults })}
        </Fact>
      )}
      <ImportFact state={state} />
    </ul>
  );
}

export function ProjectsTab({ organization, search, onSearch }: TabProps) {
  const { t } = useTranslation('organization');
  const can = useCan(organization);
  const [isNew, setNew] = useState(false);
  const query = tabQueries.projects(organization, search);
  const { data, fault, refresh } = usePageQuery(query);
  const [{ data: more }, askAgain] = useQuery({ query: ProjectStates, variables: query.variables });
  const states = new Map(
    more?.organization?.projects?.nodes.map(({ machine_name, studio }) => [machine_name, studio] as const),
  );
  usePolling([...states.values()].some(isImporting), () => askAgain({ requestPolicy: 'network-only' }));
  const projects = data?.organization?.projects;
  if (!projects) return fault ? <Failure fault={fault} onRetry={refresh} /> : <Waiting rows={6} />;
  const create = can('manage_organization') && <Button onClick={() => setNew(true)}>{t('new_project')}</Button>;
  return (
    <>
      {projects.nodes.length === 0 && search.after === undefined ? (
        <Notice title={t('no_projects')} action={create}>
          {t('no_projects_lead')}
        </Notice>
      ) : (
        <>
          <div className={classes.bar}>
            <p className={classes.lead}>{t('projects_lead')}</p>
            {create}
          </div>
          <ul className={classes.cards} aria-label={t('projects')}>
            {projects.nodes.map(({ name, machine_name }) => {
              const state = states.get(machine_name);
              return (
                <li key={machine_name} className={classes.card}>
                  <h2>
                    <Link
                      to="/p/$organization/$project"
                      params={{ organization, project: machine_name ?? '' }}
                      search={{}}
                      dir="auto"
                    >
                      {name}
                    </Link>
                  </h2>
                  {state ? <Facts state={state} /> : <Skeleton height={44} mt="auto" />}
                </li>
              );
            })}
          </ul>
          <Pager
            total={projects.total_count}
            after={search.after}
            page={projects.page_info}
            onGo={(after) => onSearch({ after })}
          />
        </>
      )}
      {isNew && <NewProject organization={organization} onClose={() => setNew(false)} />}
    </>
  );
}

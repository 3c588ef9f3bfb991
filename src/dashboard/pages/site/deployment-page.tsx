/** A deployment: how it stands, its jobs with their steps, and the log of one of them as it is written. */
import { Alert, Anchor, Button, Group, Tabs, Text, Title } from '@mantine/core';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { CancelDeployment, type DeploymentPageQuery, DeploymentPreview, RerunDeployment } from '../../documents.ts';
import { client } from '../../lib/client.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { useLive } from '../../lib/live.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { Mark } from '../../parts/mark.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { OpenButton } from '../../parts/open-site.tsx';
import { Failure, NotFound, Waiting } from '../../shell/states.tsx';
import { DeployedVersion } from './deployed-version.tsx';
import { DeploymentMark } from './deployment-mark.tsx';
import { followDeployment } from './deployment-task.ts';
import { Log } from './log.tsx';
import { MakeLive } from './make-live.tsx';
import classes from './site.module.css';
import { deploymentQuery } from './site-query.ts';

type Deployment = NonNullable<NonNullable<NonNullable<DeploymentPageQuery['project']>['studio']>['deployment']>;
type Job = Deployment['jobs'][number];

/** The job that one wants to read first: the failed one, the one that runs, the last that ran. */
const interesting = (jobs: readonly Job[]): Job | undefined =>
  jobs.find(({ conclusion }) => conclusion === 'failure') ??
  jobs.find(({ status }) => status === 'in_progress') ??
  jobs.findLast(({ status, conclusion }) => status === 'completed' && conclusion !== 'skipped') ??
  jobs[0];

function Steps({ job }: { job: Job }) {
  const { t } = useTranslation('site');
  const { duration } = useFormats();
  return (
    <ol className={classes.steps} aria-label={t('steps_of', { job: job.name })}>
      {job.steps.map((step) => (
        <li key={step.number}>
          <DeploymentMark status={step.status} conclusion={step.conclusion} />
          <bdi>{step.name}</bdi>
          <Text size="sm" c="dimmed" component="span">
            {step.started_at && step.completed_at
              ? duration(Date.parse(step.completed_at) - Date.parse(step.started_at))
              : ''}
            {step.exit_code !== null && step.exit_code !== 0 && ` · ${t('exit_code', { code: step.exit_code })}`}
          </Text>
        </li>
      ))}
    </ol>
  );
}

/** The jobs by name; that which is shown is in sight, also where not all fit. */
function JobTabs({ jobs, shown }: { jobs: readonly Job[]; shown: string }) {
  const { t } = useTranslation('site');
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const tab = list.current?.querySelector(`[data-job="${CSS.escape(shown)}"]`);
    if (!list.current || !tab) return;
    const [frame, own] = [list.current.getBoundingClientRect(), tab.getBoundingClientRect()];
    // `scrollIntoView` would scroll the page as well.
    list.current.scrollLeft += own.left + own.width / 2 - frame.left - frame.width / 2;
  }, [shown]);
  return (
    <Tabs.List ref={list} aria-label={t('jobs')} mb="md">
      {jobs.map(({ name, status, conclusion }) => (
        <Tabs.Tab
          key={name}
          value={name}
          data-job={name}
          rightSection={<DeploymentMark status={status} conclusion={conclusion} />}
        >
          {name}
        </Tabs.Tab>
      ))}
    </Tabs.List>
  );
}

export function DeploymentPage() {
  const { t } = useTranslation(['site', 'common']);
  const from = '/inside/p/$organization/$project/site/deployments/$deployment';
  const { organization, project } = usePlace();
  const id = Number(useParams({ from }).deployment);
  const search = useSearch({ from });
  const navigate = useNavigate({ from: '/p/$organization/$project/site/deployments/$deployment' });
  const can = useCan(organization, project);
  const { ago, duration } = useFormats();
  const { data, fault, refresh } = usePageQuery(deploymentQuery({ organization, project }, id));
  const cancel = useCommand(CancelDeployment);
  const rerun = useCommand(RerunDeployment);
  useLive([`deployment:${id}`], refresh);
  const deployment = data?.project?.studio?.deployment;
  if (fault && !deployment) return <Failure fault={fault} onRetry={refresh} order={1} />;
  if (!deployment) return data ? <NotFound /> : <Waiting />;
  const { environment } = deployment;
  const name = t('deployment', { number: deployment.run_number });
  const isOver = deployment.status === 'completed';
  const job = deployment.jobs.find(({ name }) => name === search.job) ?? interesting(deployment.jobs);
  const findPreview = async () => {
    const variables = { organization, project, deployment: id };
    const { data } = await client.query(DeploymentPreview, variables, { requestPolicy: 'network-only' }).toPromise();
    return data?.project?.studio.deployment?.preview?.url ?? deployment.url;
  };
  const stop = async () => {
    await cancel.run({ organization, project, input: { deployment: id } });
    refresh();
  };
  const again = async () => {
    const { data } = await rerun.run({ organization, project, input: { deployment: id } });
    const begun = data?.rerunDeployment;
    if (!begun) return;
    followDeployment({ organization, project, ...begun });
    refresh();
    await navigate({ params: (before) => ({ ...before, deployment: String(begun.id) }), search: {} });
  };
  return (
    <>
      <Anchor
        size="sm"
        className={classes.up ?? ''}
        renderRoot={(props) => (
          <Link to="/p/$organization/$project/site" params={{ organization, project }} {...props} />
        )}
      >
        {t('title')}
      </Anchor>
      <Group justify="space-between" mb="sm" gap="sm">
        <Group gap="md">
          <Title order={1}>{name}</Title>
          <DeploymentMark status={deployment.status} conclusion={deployment.conclusion} />
          {deployment.published && <Mark tone="good">{t('is_live')}</Mark>}
        </Group>
        <Group gap="xs">
          {deployment.url && <OpenButton name={name} find={findPreview} />}
          {can('edit_studio') &&
            (isOver ? (
              <Button variant="default" onClick={() => void again()} loading={rerun.isRunning}>
                {t('again')}
              </Button>
            ) : (
              <Button variant="default" onClick={() => void stop()} loading={cancel.isRunning}>
                {t('common:cancel')}
              </Button>
            ))}
          {environment && <MakeLive deployment={deployment} environment={environment} />}
        </Group>
      </Group>
      <Text mb="md">
        <DeployedVersion deployment={deployment} /> ·{' '}
        {environment && (
          <Link
            to="/p/$organization/$project/site/environments/$environment"
            params={{ organization, project, environment: String(environment.id) }}
          >
            <MarkedText text={environment.name} />
          </Link>
        )}{' '}
        · {ago(deployment.created_at)}
        {deployment.duration_ms !== null && ` · ${duration(deployment.duration_ms)}`}
      </Text>
      <FaultAlert fault={cancel.fault ?? rerun.fault} />
      {deployment.failure_reason && (
        <Alert color="red" mb="md" title={t('failed_title')}>
          {t(`reason_${deployment.failure_reason}`)}
          {deployment.failure_reason === 'isolation_unavailable' && ` ${deployment.isolation_reason ?? ''}`}
        </Alert>
      )}
      {deployment.warnings.map(({ message, path }) => (
        <Alert key={`${path} ${message}`} color="yellow" mb="sm">
          {path && <code>{path}: </code>}
          {message}
        </Alert>
      ))}
      {job && (
        <Tabs
          value={job.name}
          keepMounted={false}
          onChange={(next) => navigate({ search: (before) => ({ ...before, job: next ?? undefined }), replace: true })}
        >
          <JobTabs jobs={deployment.jobs} shown={job.name} />
          <Tabs.Panel value={job.name}>
            <Steps job={job} />
            <Log
              key={job.id}
              at={{ organization, project, deployment: id, job: job.id }}
              label={t('log_of', { job: job.name })}
            />
          </Tabs.Panel>
        </Tabs>
      )}
    </>
  );
}

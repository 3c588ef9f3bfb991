/** Environments, where branches are published, and deployments, the attempts to do so. */
import { z } from 'zod';
import { annotateDeploymentPage, annotatePage } from '../../domain/studio/annotations/annotate-page.operations.ts';
import type { LogText } from '../../domain/studio/deployments/deployment-feed.ts';
import {
  cancelDeployment,
  getDeployment,
  getDeployments,
  getLatestDeployment,
  listDeploymentSummaries,
  listDeployments,
  listDeploymentsOfBranches,
  rerunDeployment,
  startDeployment,
} from '../../domain/studio/deployments/deployments.operations.ts';
import { deploymentJob } from '../../domain/studio/deployments/deployments.schema.ts';
import { listDeploymentLog, logText, readDeploymentLog } from '../../domain/studio/deployments/get-log.operations.ts';
import { reportDeployment } from '../../domain/studio/deployments/report-deployment.operations.ts';
import {
  createEnvironment,
  deleteEnvironment,
  getEnvironment,
  getEnvironmentSummary,
  getEnvironments,
  listEnvironmentSummaries,
  listEnvironments,
  updateEnvironment,
} from '../../domain/studio/environments/environments.operations.ts';
import { previewBranch } from '../../domain/studio/environments/preview-branch.operations.ts';
import {
  getDeploymentEditor,
  getDeploymentPreview,
  getEnvironmentPreview,
} from '../../domain/studio/previews/preview-link.operations.ts';
import { getBranches } from '../../domain/studio/repository/branches.operations.ts';
import { getCommits } from '../../domain/studio/repository/commits.operations.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { GraphqlContext } from '../context.ts';
import { type News, type Source, stateNews } from '../stream/follow.ts';
import { batch, field, link, mutation, node, object, part, type Row, subscription } from '../table.ts';

interface AtProject {
  organization: string;
  project: string;
}
interface Environment {
  branch: string;
  published_deployment_id: number | null;
  latest_deployment: { id: number } | null;
}
/** An environment holds its latest deployment, all but these fields. */
const fetched = ['jobs'];
interface Repository {
  settings: { draft_preview: number | null };
}
interface Deployment {
  environment: { id: number };
  commit_sha: string;
}

const nothing = () => undefined;
const headOf = ({ head }: { head: { ref: string } }) => head.ref;

type ChangedArgs = AtProject & { deployment_id?: number | null; environment_id?: number | null };

/** One deployment until it has ended. */
function oneDeployment(
  { organization, project }: AtProject,
  deployment: number,
  context: GraphqlContext,
): Source<unknown> {
  return {
    async read(after) {
      const record = await context.run(getDeployment, { organization, project, deployment });
      return stateNews(after, record, record.status === 'completed');
    },
    watch: (wake) => context.live.feed.followChanges({ deployment }, wake),
  };
}

/** The latest deployment of an environment, and every other one that changes. */
function deploymentsOf(args: AtProject, environment: number, context: GraphqlContext): Source<unknown> {
  const { organization, project } = args;
  const at = { organization, project };
  const changed = new Set<number>();
  const sent = new Map<number, string>();
  return {
    async read(after): Promise<News<unknown>> {
      // Fails when the environment does not exist, or the caller may no longer read it.
      await context.run(getEnvironmentSummary, { ...at, environment });
      const { items } = await context.run(listDeployments, { ...at, environment, per_page: 1 });
      const others = [...changed].filter((id) => id !== items[0]?.id).sort((a, b) => a - b);
      changed.clear();
      const records = [];
      for (const deployment of others) records.push(await context.run(getDeployment, { ...at, deployment }));
      const events = [...records, ...items].flatMap((record) => {
        const news = stateNews(sent.get(record.id) ?? after, record, false);
        for (const { position } of news.events) sent.set(record.id, position);
        return news.events;
      });
      return { events };
    },
    watch: (wake) =>
      context.live.feed.followChanges({ environment }, ({ deployment }) => {
        changed.add(deployment);
        wake();
      }),
  };
}

function deploymentChanges(args: ChangedArgs, context: GraphqlContext): Source<unknown> {
  const { deployment_id, environment_id } = args;
  if (typeof deployment_id === 'number' && typeof environment_id !== 'number')
    return oneDeployment(args, deployment_id, context);
  if (typeof environment_id === 'number' && typeof deployment_id !== 'number')
    return deploymentsOf(args, environment_id, context);
  throw new DomainError('invalid_request', 'deployment_id: name a deployment or an environment, one of the two');
}

/** Texts kept while the client takes its time; of more, what is stored is read. */
const maxPending = 1000;

/** Events for what texts add behind a position without a gap; an event's position is its end. Offsets count bytes. */
function textsBehind(position: number, texts: readonly LogText[]) {
  let at = position;
  return texts.flatMap(({ offset, text }) => {
    const bytes = Buffer.from(text);
    const end = offset + bytes.length;
    if (offset > at || end <= at) return [];
    const data = { offset: at, text: bytes.subarray(at - offset).toString('utf8') };
    at = end;
    return [{ position: String(end), data }];
  });
}

/** The log of a job: the stored part, and behind it what this process receives while it is written. */
function logTexts(
  args: AtProject & { deployment_id: number; job_id: number },
  context: GraphqlContext,
): Source<unknown> {
  const { organization, project, deployment_id: deployment, job_id: job } = args;
  const { feed } = context.live;
  const pending: LogText[] = [];
  return {
    async read(after) {
      if (after !== null && !/^\d{1,15}$/.test(after))
        throw new DomainError('invalid_request', 'after: must be the id of an event of this log');
      const offset = after === null ? 0 : Number(after);
      const wanted = { organization, project, deployment, job, offset };
      const { text, next_offset, complete, more } = await context.run(readDeploymentLog, wanted);
      const stored = text === '' ? [] : [{ position: String(next_offset), data: { offset, text } }];
      // Texts sent already may not be stored yet: starting over from the stored part would send them twice, and delay the next.
      const at = Math.max(offset, next_offset);
      // What is received goes behind all that is stored.
      const events = more ? stored : [...stored, ...textsBehind(at, pending.splice(0))];
      return { events, position: events.at(-1)?.position ?? String(at), more, ended: complete };
    },
    watch(wake) {
      const endTexts = feed.followLog(job, (text) => {
        if (pending.length >= maxPending) pending.length = 0;
        pending.push(text);
        wake();
      });
      const endChanges = feed.followChanges({ deployment }, wake);
      return () => {
        endTexts();
        endChanges();
      };
    },
  };
}

export const deployments: readonly Row[] = [
  node('Environment', getEnvironment, { environment: 'id' }),
  field('Studio', 'environments', listEnvironments, { locate: listEnvironmentSummaries }),
  field('Studio', 'environment', getEnvironment, { names: { environment: 'id' }, locate: getEnvironmentSummary }),
  field('Branch', 'environments', listEnvironments, {
    description: 'Environments that publish it',
    cost: 5,
    given: { branch: ({ name }: { name: string }) => name },
    locate: listEnvironmentSummaries,
  }),
  batch(
    'Environment',
    'branch',
    getBranches,
    { names: ({ branch }: Environment) => branch },
    {
      description: 'The branch it publishes; null when it is gone',
    },
  ),
  object('SavedEnvironment', createEnvironment, { environment: 'id' }),
  batch(
    ['Environment', 'SavedEnvironment'],
    'published',
    getDeployments,
    { deployments: ({ published_deployment_id }: Environment) => published_deployment_id },
    {
      description: 'What it shows',
      cost: 5,
      known: {
        of: ({ latest_deployment, published_deployment_id }: Environment) =>
          latest_deployment?.id === published_deployment_id ? latest_deployment : null,
        but: fetched,
      },
    },
  ),
  batch(
    'Environment',
    'latest_deployment',
    getDeployments,
    { deployments: ({ latest_deployment }: Environment) => latest_deployment?.id ?? null },
    {
      description: 'The newest, whatever has become of it',
      cost: 5,
      known: { of: ({ latest_deployment }: Environment) => latest_deployment, but: fetched },
    },
  ),
  field('Environment', 'deployments', listDeployments, {
    cost: 5,
    given: { branch: nothing },
    locate: listDeploymentSummaries,
  }),
  field('Environment', 'preview', getEnvironmentPreview, { cost: 5 }),
  field('Environment', 'annotations', annotatePage, { cost: 50 }),
  mutation('createEnvironment', createEnvironment),
  mutation('updateEnvironment', updateEnvironment),
  mutation('deleteEnvironment', deleteEnvironment, { payload: 'environment' }),
  mutation('previewBranch', previewBranch),
  link(
    'Repository',
    'draft_preview_environment',
    getEnvironment,
    { environment: ({ settings }: Repository) => settings.draft_preview },
    'The environment that draft previews are copies of',
    { locate: getEnvironmentSummary },
  ),

  object('PageAnnotations', annotatePage, {}),
  link('PageAnnotations', 'deployment', getDeployment, { deployment: 'deployment_id' }, 'The deployment that built it'),

  node('Deployment', getDeployment, { deployment: 'id' }),
  part('DeploymentJob', deploymentJob, { deployment: (_job, { deployment }) => deployment, job: 'id' }),
  field('Studio', 'deployments', listDeployments, { locate: listDeploymentSummaries }),
  field('Studio', 'deployment', getDeployment, { names: { deployment: 'id' } }),
  field('Studio', 'latest_deployment', getLatestDeployment),
  field('Pull', 'deployments', listDeployments, {
    description: 'Deployments of the branch to be merged',
    cost: 5,
    given: { branch: headOf, environment: nothing },
    locate: listDeploymentSummaries,
  }),
  batch(
    'PullSummary',
    'deployments',
    listDeploymentsOfBranches,
    { branches: headOf },
    {
      description: 'The newest of the branch to be merged',
      cost: 5,
    },
  ),
  batch(
    'Deployment',
    'environment',
    getEnvironments,
    { environments: ({ environment }: Deployment) => environment.id },
    { description: 'Where it is published', cost: 5, given: { variables: (selects) => selects('variables') } },
  ),
  batch(
    'Deployment',
    'commit',
    getCommits,
    { shas: ({ commit_sha }: Deployment) => commit_sha },
    {
      description: 'What is published; null when it is gone',
    },
  ),
  field('Deployment', 'preview', getDeploymentPreview, { cost: 5 }),
  field('Deployment', 'editor', getDeploymentEditor, { cost: 5 }),
  field('Deployment', 'annotations', annotateDeploymentPage, { cost: 50 }),
  field('DeploymentJob', 'log', listDeploymentLog, { cost: 5 }),
  mutation('startDeployment', startDeployment),
  mutation('cancelDeployment', cancelDeployment),
  mutation('rerunDeployment', rerunDeployment),
  mutation('reportDeployment', reportDeployment),

  subscription('deploymentChanged', 'Deployment', {
    description:
      'A deployment as it changes until it has ended, or all of an environment; begins with the present state',
    args: { deployment_id: z.int32().optional(), environment_id: z.int32().optional() },
    source: deploymentChanges,
  }),
  subscription('deploymentLog', logText, {
    description:
      'The log of a job from a position on (default: from its beginning), as it is written, until the job has ended',
    args: { deployment_id: z.int32(), job_id: z.int32().describe('Id of the job') },
    source: logTexts,
  }),
];

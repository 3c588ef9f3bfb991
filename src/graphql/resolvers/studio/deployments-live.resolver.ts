import { Arg, Args, Int, Resolver, Root, Subscription } from 'type-graphql';
import type { LogText } from '../../../domain/studio/deployments/deployment-feed.ts';
import { getDeployment, listDeployments } from '../../../domain/studio/deployments/deployments.operations.ts';
import { getDeploymentLog, logText } from '../../../domain/studio/deployments/get-log.operations.ts';
import { getEnvironment } from '../../../domain/studio/environments/environments.operations.ts';
import { DomainError } from '../../../kernel/errors.ts';
import { type News, type Source, stateNews } from '../../stream/follow.ts';
import { classOf } from '../../types/derive.ts';
import { ProjectArgs } from '../places.ts';
import { Deployment, placedDeployment } from './deployments.types.ts';
import { type Asked, afterDescription, begin } from './subscriptions.ts';

const DeploymentLogText = classOf(logText, 'DeploymentLogText', false);

type Placed = ReturnType<typeof placedDeployment>;
type ChangedArgs = Asked<{ deployment_id?: number | null; environment_id?: number | null }>;

/** One deployment until it has ended. */
function oneDeployment({ context, args }: ChangedArgs, deployment: number): Source<Placed> {
  const { organization, project } = args;
  const at = { organization, project };
  return {
    async read(after) {
      const record = await context.run(getDeployment, { ...at, deployment });
      return stateNews(after, placedDeployment(record, at), record.status === 'completed');
    },
    watch: (wake) => context.live.feed.followChanges({ deployment }, wake),
  };
}

/** The latest deployment of an environment, and every other one that changes. */
function deploymentsOf({ context, args }: ChangedArgs, environment: number): Source<Placed> {
  const { organization, project } = args;
  const at = { organization, project };
  const changed = new Set<number>();
  const told = new Map<number, string>();
  return {
    async read(after): Promise<News<Placed>> {
      // Fails when the environment does not exist, or the caller may no longer read it.
      await context.run(getEnvironment, { ...at, environment });
      const { items } = await context.run(listDeployments, { ...at, environment, per_page: 1 });
      const others = [...changed].filter((id) => id !== items[0]?.id).sort((a, b) => a - b);
      changed.clear();
      const records = [];
      for (const deployment of others) records.push(await context.run(getDeployment, { ...at, deployment }));
      const events = [...records, ...items].flatMap((record) => {
        const news = stateNews(told.get(record.id) ?? after, placedDeployment(record, at), false);
        for (const { position } of news.events) told.set(record.id, position);
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

function deploymentChanges(asked: ChangedArgs) {
  const { deployment_id, environment_id } = asked.args;
  if (typeof deployment_id === 'number' && typeof environment_id !== 'number')
    return begin(asked, oneDeployment(asked, deployment_id));
  if (typeof environment_id === 'number' && typeof deployment_id !== 'number')
    return begin(asked, deploymentsOf(asked, environment_id));
  throw new DomainError('invalid_request', 'deployment_id: name a deployment or an environment, one of the two');
}

/** Texts kept while the client takes its time; of more, what is stored is read. */
const mostHeard = 1000;

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
function logTexts(asked: Asked<{ deployment_id: number; job: number }>) {
  const { context, args } = asked;
  const { organization, project, deployment_id, job } = args;
  const { feed } = context.live;
  const heard: LogText[] = [];
  return begin(asked, {
    async read(after) {
      if (after !== null && !/^\d{1,15}$/.test(after))
        throw new DomainError('invalid_request', 'after: must be the id of an event of this log');
      const offset = after === null ? 0 : Number(after);
      const wanted = { organization, project, deployment: deployment_id, job, offset };
      const { text, next_offset, complete } = await context.run(getDeploymentLog, wanted);
      const stored = text === '' ? [] : [{ position: String(next_offset), data: { offset, text } }];
      // Texts sent already may not be stored yet: starting over from the stored part would send them twice, and delay the next.
      const at = Math.max(offset, next_offset);
      const events = [...stored, ...textsBehind(at, heard.splice(0))];
      return { events, position: events.at(-1)?.position ?? String(at), ended: complete };
    },
    watch(wake) {
      const endTexts = feed.followLog(job, (text) => {
        if (heard.length >= mostHeard) heard.length = 0;
        heard.push(text);
        wake();
      });
      const endChanges = feed.followChanges({ deployment: deployment_id }, wake);
      return () => {
        endTexts();
        endChanges();
      };
    },
  });
}

@Resolver()
export class DeploymentsLiveResolver {
  @Subscription(() => Deployment, {
    nullable: true,
    description:
      'A deployment as it changes until it has ended, or all of an environment; begins with the present state',
    subscribe: deploymentChanges,
  })
  deploymentChanged(
    @Root() deployment: object,
    @Args(() => ProjectArgs) _at: ProjectArgs,
    @Arg('deployment_id', () => Int, { nullable: true }) _deployment: unknown,
    @Arg('environment_id', () => Int, { nullable: true }) _environment: unknown,
    @Arg('after', () => String, { nullable: true, description: afterDescription }) _after: unknown,
  ) {
    return deployment;
  }

  @Subscription(() => DeploymentLogText, {
    nullable: true,
    description:
      'The log of a job from a position on (default: from its beginning), as it is written, until the job has ended',
    subscribe: logTexts,
  })
  deploymentLog(
    @Root() text: object,
    @Args(() => ProjectArgs) _at: ProjectArgs,
    @Arg('deployment_id', () => Int) _deployment: unknown,
    @Arg('job', () => Int, { description: 'Id of the job' }) _job: unknown,
    @Arg('after', () => String, { nullable: true, description: afterDescription }) _after: unknown,
  ) {
    return text;
  }
}

import { z } from 'zod';
import { timestamp } from '../../../kernel/shapes.ts';
import { executeBound } from '../../../kernel/sql.ts';
import { forEachYielding } from '../../../lib/concurrency.ts';
import { Pull } from '../pulls/pull.entity.ts';
import { headsOf, versionOf } from '../pulls/pull-record.ts';
import type { StudioContext } from '../studio.ts';
import { localStudioOperation } from '../studio-operation.ts';
import type { Change, LoggedChange } from './change-log.ts';
import { concerns, parseTopic, type Topic, topics } from './topics.ts';

/** A change of something that is watched: what it is and which version it has now, to be read where it is shown in another. */
export const watchEvent = z
  .object({
    topic: z.string().describe('As it was named'),
    id: z
      .string()
      .nullable()
      .describe('Name of the branch, number or id; null in the event by which a topic of many begins'),
    version: z
      .string()
      .nullable()
      .describe(
        'Of a branch its commit, of an entry its blob, of a pull request what begins its ETag, of a deployment a text that changes with it; ' +
          'null: none, or no longer there',
      ),
    at: timestamp,
    position: z.string().describe('To go on behind this event (`after`)'),
  })
  .meta({ id: 'WatchEvent' });
type WatchEvent = z.output<typeof watchEvent>;

/** Position while the first events are sent: a stream that is cut among them begins again. */
const beginning = 'beginning';

type Context = Pick<StudioContext, 'em' | 'git' | 'project' | 'studio'>;
type Found = Pick<WatchEvent, 'id' | 'version'>;
type EntryTopic = Extract<Topic, { kind: 'entry' }>;

async function entryNow({ git, studio }: Context, { branch, collection, slug }: EntryTopic): Promise<Found> {
  const head = await git.head(branch);
  if (head === null) return { id: slug, version: null };
  const site = await studio.content.site(git, await git.snapshot(head));
  return { id: slug, version: site.collections.get(collection)?.find(slug)?.oid ?? null };
}

const nameOf = (change: Change): string | number => {
  switch (change.kind) {
    case 'branch':
      return change.branch;
    case 'pull':
      return change.number;
    case 'deployment':
      return change.id;
  }
};

/** The last change of each object, in their order. Changes of one object concern the same topics, so nothing else has to be read. */
function lastOfEach(changes: readonly LoggedChange[]): Iterable<LoggedChange> {
  const last = new Map<string, LoggedChange>();
  for (const logged of changes) {
    const key = `${logged.change.kind} ${nameOf(logged.change)}`;
    last.delete(key);
    last.set(key, logged);
  }
  return last.values();
}

/** The object a change is about, as a topic shows it. */
async function objectOf(context: Context, topic: Topic, change: Change): Promise<Found> {
  const { git } = context;
  if (topic.kind === 'entry') return entryNow(context, topic);
  switch (change.kind) {
    case 'branch':
      return { id: change.branch, version: await git.head(change.branch) };
    case 'pull':
      return { id: String(change.number), version: versionOf(change, await headsOf(context, change)) };
    case 'deployment':
      return { id: String(change.id), version: change.version };
  }
}

/** What topics of one object show now. */
async function objectsNow(context: Context, all: readonly Topic[]): Promise<(topic: Topic) => Promise<Found>> {
  const { em, git, project } = context;
  const numbers = all.flatMap((topic) => (topic.kind === 'pull' && topic.number !== null ? [topic.number] : []));
  const ids = all.flatMap((topic) => (topic.kind === 'deployment' && topic.id !== null ? [topic.id] : []));
  const where = { project_id: project.id, number: { $in: numbers } };
  const pulls = numbers.length === 0 ? [] : await em.find(Pull, where, { disableIdentityMap: true });
  const deployments =
    ids.length === 0
      ? []
      : await executeBound<{ id: number; version: string }>(
          em,
          'select id, deployment_version(id) as version from deployment where project_id = $1 and id = any($2)',
          [project.id, ids],
        );
  return async (topic) => {
    switch (topic.kind) {
      case 'branch':
        return { id: topic.branch, version: topic.branch === null ? null : await git.head(topic.branch) };
      case 'entry':
        return entryNow(context, topic);
      case 'pull': {
        const row = pulls.find(({ number }) => number === topic.number);
        const version = row ? versionOf(row, await headsOf(context, row)) : null;
        return { id: topic.number === null ? null : String(topic.number), version };
      }
      case 'deployment': {
        const version = deployments.find(({ id }) => id === topic.id)?.version ?? null;
        return { id: topic.id === null ? null : String(topic.id), version };
      }
    }
  };
}

export const readChanges = localStudioOperation({
  name: 'studio.readChanges',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Follow what changes in a project: ids and versions, first as they are now',
  input: z.object({ topics, after: z.string().max(100).optional().describe('Position to go on behind') }),
  output: z.object({
    project_id: z.int(),
    events: z.array(watchEvent),
    position: z.string(),
    missed: z.boolean(),
  }),
  async execute(context, { topics: names, after }) {
    const { project, services, studio } = context;
    const named = [...new Set(names)].flatMap((name) => {
      const topic = parseTopic(name);
      return topic ? [{ name, topic }] : [];
    });
    const begins = after === undefined || after === beginning;
    const { changes, position, positionAt, missed } = studio.changes.since(project.id, begins ? null : after);
    const events: WatchEvent[] = [];
    if (begins) {
      const at = services.clock.now();
      const objectNow = await objectsNow(
        context,
        named.map(({ topic }) => topic),
      );
      await forEachYielding(named, async ({ name, topic }) => {
        events.push({ topic: name, ...(await objectNow(topic)), at, position: beginning });
      });
      const last = events.at(-1);
      if (last) last.position = position;
      return { project_id: project.id, events, position, missed };
    }
    // What is sent for one change is behind it only with the last of its events.
    await forEachYielding(lastOfEach(changes), async ({ seq, at, change }) => {
      const concerned = named.filter(({ topic }) => concerns(topic, change));
      for (const [index, { name, topic }] of concerned.entries()) {
        const found = await objectOf(context, topic, change);
        events.push({ topic: name, ...found, at, position: positionAt(index < concerned.length - 1 ? seq - 1 : seq) });
      }
    });
    return { project_id: project.id, events, position, missed };
  },
});

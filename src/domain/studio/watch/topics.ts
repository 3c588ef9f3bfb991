import { z } from 'zod';
import type { Change } from './change-log.ts';

/** What a topic names: all objects of a kind, or one. */
export type Topic =
  | { kind: 'branch'; branch: string | null }
  | { kind: 'pull'; number: number | null }
  | { kind: 'deployment'; id: number | null }
  | { kind: 'entry'; branch: string; collection: string; slug: string };

const idPattern = /^[1-9]\d{0,8}$/;

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function entryTopic(text: string): Topic | null {
  const [, branch, collection, slug] = /^([^/]+)\/([^/]+)\/(.+)$/s.exec(text)?.map(decoded) ?? [];
  return branch && collection && slug ? { kind: 'entry', branch, collection, slug } : null;
}

/** Reads a topic; null when it is none. */
export function parseTopic(text: string): Topic | null {
  const colon = text.indexOf(':');
  const kind = colon === -1 ? text : text.slice(0, colon);
  const name = colon === -1 ? null : text.slice(colon + 1);
  if (name === '') return null;
  const number = name === null ? null : Number(name);
  const isNumber = name === null || idPattern.test(name);
  switch (kind) {
    case 'branch':
      return { kind, branch: name };
    case 'pull':
      return isNumber ? { kind, number } : null;
    case 'deployment':
      return isNumber ? { kind, id: number } : null;
    case 'entry':
      return name === null ? null : entryTopic(name);
    default:
      return null;
  }
}

export const topicsDescription =
  'At most 20 of `branch`, `branch:<name>`, `pull`, `pull:<number>`, `deployment`, `deployment:<id>` and ' +
  '`entry:<branch>/<collection>/<slug>` with each of the three percent-encoded';

/** The topics of a subscription, as a client names them. */
export const topics = z
  .array(
    z
      .string()
      .max(3_000, 'must be at most 3000 characters')
      .refine(
        (text) => parseTopic(text) !== null,
        'must be branch, branch:<name>, pull, pull:<number>, deployment, deployment:<id> or entry:<branch>/<collection>/<slug>',
      ),
  )
  .min(1, 'must name a topic')
  .max(20, 'must be at most 20 topics')
  .describe(topicsDescription);

/** Whether a change is about a topic. An entry may change whenever its branch moves. */
export function concerns(topic: Topic, change: Change): boolean {
  switch (topic.kind) {
    case 'branch':
      return change.kind === 'branch' && (topic.branch === null || topic.branch === change.branch);
    case 'entry':
      return change.kind === 'branch' && topic.branch === change.branch;
    case 'pull':
      return change.kind === 'pull' && (topic.number === null || topic.number === change.number);
    case 'deployment':
      return change.kind === 'deployment' && (topic.id === null || topic.id === change.id);
  }
}

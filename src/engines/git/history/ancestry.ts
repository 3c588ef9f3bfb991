import type { Commit, Oid } from '../../../domain/ports/git-records.ts';
import type { ObjectSource } from '../objects/object-source.ts';

/** Commits looked at before the question is left to git, which has an index for long histories. */
const horizon = 256;

const ours = 1;
const theirs = 2;
/** Below a common ancestor: of no interest any more. */
const stale = 4;

interface Seen {
  commit: Commit;
  flags: number;
  /** Commit time, seconds. */
  time: number;
}

/**
 * Best common ancestors of two commits, found by walking both histories from their newest commits on, as git does (merge-base, "paint down
 * to common").
 * @returns null when the histories have to be followed too far, or are missing in part: git has to say
 */
export async function commonAncestors(objects: Pick<ObjectSource, 'commit'>, a: Oid, b: Oid): Promise<Oid[] | null> {
  if (a === b) return [a];
  const seen = new Map<Oid, Seen>();
  const queue: Seen[] = [];
  const visit = async (oid: Oid, flags: number) => {
    const known = seen.get(oid);
    if (known) {
      if ((known.flags & flags) === flags) return;
      known.flags |= flags;
      if (!queue.includes(known)) queue.push(known);
      return;
    }
    const commit = await objects.commit(oid);
    const made = { commit, flags, time: Date.parse(commit.committer.date) };
    seen.set(oid, made);
    queue.push(made);
  };
  await visit(a, ours);
  await visit(b, theirs);
  const found = new Set<Seen>();
  while (queue.some(({ flags }) => (flags & stale) === 0)) {
    if (seen.size > horizon) return null;
    const next = takeNewest(queue);
    let passed = next.flags & (ours | theirs | stale);
    if ((next.flags & (ours | theirs)) === (ours | theirs)) {
      if ((next.flags & stale) === 0) found.add(next);
      passed |= stale;
    }
    for (const parent of next.commit.parents) await visit(parent, passed);
  }
  return [...found].filter(({ flags }) => (flags & stale) === 0).map(({ commit }) => commit.sha);
}

function takeNewest(queue: Seen[]): Seen {
  let at = 0;
  for (const [index, seen] of queue.entries()) if (seen.time > (queue[at]?.time ?? 0)) at = index;
  const [newest] = queue.splice(at, 1);
  if (!newest) throw new Error('the queue is empty');
  return newest;
}

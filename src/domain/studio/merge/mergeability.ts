import { LRUCache } from 'lru-cache';
import type { Oid } from '../../ports/git-records.ts';
import { type MergeContext, mergeCommits } from './merge-commits.ts';

/** Two commits merge as they do for ever, so nothing here is stale; what is dropped is found out again. */
const known = new LRUCache<string, Promise<boolean>>({ max: 2000 });

/** Whether one commit merges into another without conflict; false without a common ancestor. */
export function isMergeable(context: MergeContext, current: Oid, incoming: Oid): Promise<boolean> {
  const key = `${context.git.id}:${current}:${incoming}`;
  const found = known.get(key);
  if (found) return found;
  const tried = attempt(context, current, incoming);
  known.set(key, tried);
  tried.catch(() => known.delete(key));
  return tried;
}

async function attempt(context: MergeContext, current: Oid, incoming: Oid): Promise<boolean> {
  // git tries without storing anything; only what it cannot do is tried key by key.
  const [tried] = await context.git.mergeability([{ current, incoming }]);
  if (!tried) return false;
  return tried.clean || (await mergeCommits(context, { current, incoming })).conflicts.length === 0;
}

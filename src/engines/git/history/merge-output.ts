import type { ConflictKind, MergeConflict, Oid } from '../../../domain/ports/git-records.ts';

/** What `git merge-tree -z` prints of one merge. */
export interface MergeOutput {
  tree: Oid;
  conflicts: MergeConflict[];
  auto_merged: string[];
}

interface Message {
  paths: string[];
  type: string;
  text: string;
}

const stageName = { '1': 'base', '2': 'current', '3': 'incoming' } as const;

/** The stable names of git's conflict types, those that say more first: a binary file is reported as contents, too. */
const kinds: readonly [type: string, kind: ConflictKind][] = [
  ['CONFLICT (binary)', 'binary'],
  ['CONFLICT (file/directory)', 'file_directory'],
  ['CONFLICT (rename/rename)', 'rename_rename'],
  ['CONFLICT (rename/delete)', 'rename_delete'],
  ['CONFLICT (modify/delete)', 'delete_modify'],
  ['CONFLICT (distinct modes)', 'mode'],
  ['CONFLICT (contents)', 'content'],
];

/**
 * Reads one merge from records ended by NUL (git-merge-tree, "OUTPUT"): the tree; `<mode> <oid> <stage>TAB<path>` for every stage of a
 * conflicting file; an empty record; then messages, each as the number of its paths, the paths, a type and a text.
 *
 * @returns the merge, and where the next record begins (`--stdin` puts an empty one behind every merge)
 */
export function parseMerge(records: readonly string[], at = 0): { merge: MergeOutput; next: number } {
  const tree = records[at] ?? '';
  const stages = new Map<string, MergeConflict['stages']>();
  let next = at + 1;
  for (; records[next]; next += 1) readStage(records[next] ?? '', stages);
  next += 1;
  const messages: Message[] = [];
  while (records[next]) {
    const count = Number(records[next]);
    const [type = '', text = ''] = records.slice(next + 1 + count, next + 3 + count);
    messages.push({ paths: records.slice(next + 1, next + 1 + count), type, text });
    next += 3 + count;
  }
  const conflicts = [...stages].map(([path, found]) => describe(path, found, messages));
  const merged = messages.filter(({ type }) => type === 'Auto-merging').flatMap(({ paths }) => paths);
  return { merge: { tree, conflicts, auto_merged: merged.filter((path) => !stages.has(path)) }, next: next + 1 };
}

function readStage(record: string, stages: Map<string, MergeConflict['stages']>): void {
  const tab = record.indexOf('\t');
  const path = record.slice(tab + 1);
  const [mode = '', oid = '', stage = ''] = record.slice(0, tab).split(' ');
  const found = stages.get(path) ?? { base: null, current: null, incoming: null };
  stages.set(path, found);
  const name = stageName[stage as keyof typeof stageName];
  if (name !== undefined) found[name] = { oid, mode };
}

function describe(path: string, stages: MergeConflict['stages'], messages: readonly Message[]): MergeConflict {
  const about = messages.filter(({ paths, type }) => type.startsWith('CONFLICT') && paths.includes(path));
  const named = kinds.find(([name]) => about.some(({ type }) => type === name))?.[1] ?? 'other';
  const related = new Set(about.flatMap(({ paths }) => paths));
  related.delete(path);
  // "add/add" is a wording of contents; what makes it one is that there is no base.
  const kind = named === 'content' && stages.base === null ? 'add_add' : named;
  return { path, kind, stages, related: [...related] };
}

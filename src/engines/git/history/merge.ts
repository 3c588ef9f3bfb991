import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DomainError, type ErrorCode } from '../../../kernel/errors.ts';
import { forEachYielding, mapYielding } from '../../../lib/concurrency.ts';
import type { ConflictKind, Mergeability, MergeConflict, Oid, TreeMerge } from '../../../ports/git-records.ts';
import type { Config } from '../git-child.ts';
import { type GitProcesses, wallTime } from '../git-process.ts';
import { isOid } from '../objects/object-id.ts';
import { renameLimit } from './diff.ts';

/** What `git merge-tree -z` prints of one merge. */
interface MergeOutput {
  tree: Oid;
  conflicts: MergeConflict[];
  auto_merged: string[];
}

interface Message {
  paths: string[];
  type: string;
}

const stageName = { '1': 'base', '2': 'current', '3': 'incoming' } as const;

/** The stable names of git's conflict types, the more specific first: a binary file is reported as contents, too. */
const kinds: readonly [type: string, kind: ConflictKind][] = [
  ['CONFLICT (binary)', 'binary'],
  ['CONFLICT (file/directory)', 'file_directory'],
  ['CONFLICT (rename/rename)', 'rename_rename'],
  ['CONFLICT (rename/delete)', 'rename_delete'],
  ['CONFLICT (modify/delete)', 'delete_modify'],
  ['CONFLICT (distinct modes)', 'mode'],
  ['CONFLICT (contents)', 'content'],
];

/** Records of an output, each ended by NUL. They are read one by one: a merge may have millions, and all at once they hold everything else up. */
class Records {
  readonly #bytes: Buffer;
  #at = 0;
  /** A record was read that the end of the output has cut off. */
  isCut = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The next record; empty behind the last one. */
  next(): string {
    const end = this.#bytes.indexOf(0, this.#at);
    const record = this.#bytes.toString('utf8', this.#at, end === -1 ? undefined : end);
    this.#at = end === -1 ? this.#bytes.length : end + 1;
    this.isCut ||= end === -1;
    return record;
  }

  /** The records up to the next empty one, which is read too. */
  *section(): Generator<string> {
    for (let record = this.next(); record !== ''; record = this.next()) yield record;
  }
}

/**
 * Reads one merge (git-merge-tree, "OUTPUT"): the tree; `<mode> <oid> <stage>TAB<path>` for every stage of a conflicting file; an empty record;
 * then messages, each as the number of its paths, the paths, a type and a text; an empty record, behind the last merge none.
 */
async function readMerge(records: Records): Promise<MergeOutput> {
  const tree = records.next();
  const stages = new Map<string, MergeConflict['stages']>();
  await forEachYielding(records.section(), (record) => readStage(record, stages));
  const about = new Map<string, Message[]>();
  const auto_merged: string[] = [];
  await forEachYielding(records.section(), (count) => {
    const paths = Array.from({ length: Number(count) }, () => records.next());
    const type = records.next();
    // Its text, which is for people.
    records.next();
    if (type === 'Auto-merging') auto_merged.push(...paths.filter((path) => !stages.has(path)));
    if (!type.startsWith('CONFLICT')) return;
    for (const path of new Set(paths)) {
      const known = about.get(path);
      if (known) known.push({ paths, type });
      else about.set(path, [{ paths, type }]);
    }
  });
  const conflicts = await mapYielding(stages, ([path, found]) => describe(path, found, about.get(path) ?? []));
  return { tree, conflicts, auto_merged };
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

/** @param about the messages that name the path */
function describe(path: string, stages: MergeConflict['stages'], about: readonly Message[]): MergeConflict {
  const named = kinds.find(([name]) => about.some(({ type }) => type === name))?.[1] ?? 'other';
  const related = new Set(about.flatMap(({ paths }) => paths));
  related.delete(path);
  // "add/add" is a wording of contents; what makes it one is that there is no base.
  const kind = named === 'content' && stages.base === null ? 'add_add' : named;
  return { path, kind, stages, related: [...related] };
}

const mergeConfig: Config = [
  // A file stays in the directory its author put it in, also when the other side renamed that directory: git's default is a conflict.
  ['merge.directoryRenames', 'false'],
  // As for comparisons: files gone and files new are compared with each other, and with git's own limit of 7,000 that takes minutes.
  ['merge.renameLimit', renameLimit],
  // A directory of 10,000 files takes git 20 ms to compress and nothing to write; maintenance packs it anyway.
  ['core.looseCompression', '0'],
];

/** Scratch directories begin with this; one that a dead process left is removed by maintenance. */
export const scratchPrefix = 'scratch-';

interface Pair {
  current: Oid;
  incoming: Oid;
}

function checkOids(...oids: Oid[]): void {
  for (const oid of oids) if (!isOid(oid)) throw new DomainError('not_found', 'No such commit');
}

function failed(command: string, stderr: string): DomainError {
  return new DomainError('repository_unavailable', 'The repository could not be read', {
    cause: new Error(`git ${command}: ${stderr}`),
  });
}

/** The best common ancestors of two commits, in git's order; none when they have none. */
export async function mergeBases(
  processes: GitProcesses,
  gitDir: string,
  a: Oid,
  b: Oid,
  { env = {}, signal }: { env?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Oid[]> {
  checkOids(a, b);
  const options = { gitDir, env, ...(signal && { signal }) };
  const { code, stdout, stderr } = await processes.run(['merge-base', '--all', a, b], options);
  if (code === 1) return [];
  if (code !== 0) throw failed('merge-base', stderr);
  return stdout.toString('latin1').trim().split('\n');
}

/** True when `descendant` has `ancestor` in its history, or is it. */
export async function isAncestor(processes: GitProcesses, gitDir: string, ancestor: Oid, descendant: Oid) {
  checkOids(ancestor, descendant);
  if (ancestor === descendant) return true;
  const { code, stderr } = await processes.run(['merge-base', '--is-ancestor', ancestor, descendant], { gitDir });
  if (code === 0 || code === 1) return code === 0;
  throw failed('merge-base', stderr);
}

/**
 * Merges two commits without a working tree (git-merge-tree). New trees and blobs are stored.
 *
 * @throws DomainError `no_common_ancestor`, `git_timeout` after 120 s; the signal's reason
 */
export async function mergeTrees(
  processes: GitProcesses,
  gitDir: string,
  { current, incoming }: Pair,
  signal?: AbortSignal,
): Promise<TreeMerge> {
  checkOids(current, incoming);
  const args = ['merge-tree', '--write-tree', '-z', '--messages', current, incoming];
  const options = { gitDir, timeout: wallTime.merge, config: mergeConfig, ...(signal && { signal }) };
  const { code, stdout, stderr } = await processes.runMerge(args, options);
  if (code === 0 || code === 1) return withTree(await readMerge(new Records(stdout)), code === 0);
  if (stderr.includes('unrelated histories'))
    throw new DomainError('no_common_ancestor', 'The two branches have no commit in common');
  throw failed('merge-tree', stderr);
}

/** What git has merged it has stored. */
const withTree = ({ tree, ...rest }: MergeOutput, clean: boolean): TreeMerge => ({
  ...rest,
  tree: { oid: tree },
  clean,
  may_follow_renames: true,
});

/** With these a merge ends alone, and others are tried: at bounds of git, or where git fails, as on a full disk. */
const passing: ReadonlySet<string> = new Set<ErrorCode>([
  'git_timeout',
  'too_large',
  'unavailable',
  'repository_unavailable',
]);

/** What git writes for pairs that never merge: histories without a common commit, or a commit that is gone. */
const neverMerges = /unrelated histories|not something we can merge/;

interface MergeabilityOptions {
  /** Of the place where the commits are, when they are in no repository yet (git-receive-pack, "Quarantine environment"). */
  env?: Record<string, string>;
  signal?: AbortSignal;
  /** Processor time of one process, seconds. */
  cpu?: number;
  /** Ends the tries: what has been found by then is answered. Without it a merge that takes git too long or too much fails them all. */
  until?: AbortSignal | undefined;
}

/**
 * Whether each pair merges without conflict. The objects a merge makes go to a directory that is removed with the answer.
 * @returns undefined, with `until` alone: not found by then, or too long or too much for git
 */
export async function mergeability(
  processes: GitProcesses,
  gitDir: string,
  pairs: readonly Pair[],
  { env: { GIT_OBJECT_DIRECTORY: quarantine } = {}, signal, cpu, until }: MergeabilityOptions = {},
): Promise<(Mergeability | undefined)[]> {
  for (const { current, incoming } of pairs) checkOids(current, incoming);
  const answers: (Mergeability | undefined)[] = [];
  if (pairs.length === 0) return answers;
  const objects = join(gitDir, 'objects');
  const scratch = await mkdtemp(join(gitDir, scratchPrefix));
  try {
    const stores = [...(quarantine === undefined ? [] : [quarantine]), objects].map((path) => JSON.stringify(path));
    const ends = [signal, until].filter((one) => one !== undefined);
    const bounded = { signal: AbortSignal.any(ends), ...(cpu !== undefined && { cpu }) };
    const env = { GIT_OBJECT_DIRECTORY: scratch, GIT_ALTERNATE_OBJECT_DIRECTORIES: stores.join(':') };
    while (answers.length < pairs.length && !until?.aborted) {
      signal?.throwIfAborted();
      const { found, failure } = await tryMerges(processes, gitDir, pairs.slice(answers.length), { env, ...bounded });
      const isPassing = until?.aborted || (failure instanceof DomainError && passing.has(failure.code));
      if (failure !== undefined && !(until && isPassing)) throw failure;
      answers.push(...found);
      // git stops at the first pair that it cannot merge.
      if (answers.length < pairs.length) answers.push(failure === undefined ? null : undefined);
    }
    return pairs.map((_, at) => answers[at]);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/**
 * `merge-tree --stdin`: for each pair its status (1 is clean, the reverse of the exit code), then as for one merge. git prints each when it is made,
 * so that a process that has to be ended has answered for those before.
 */
async function tryMerges(
  processes: GitProcesses,
  gitDir: string,
  pairs: readonly Pair[],
  place: { env: Record<string, string>; cpu?: number; signal: AbortSignal },
): Promise<{ found: Mergeability[]; failure: unknown }> {
  const chunks: Buffer[] = [];
  let failure: unknown;
  const options = {
    ...{ gitDir, ...place, timeout: wallTime.merge },
    config: [...mergeConfig, ['core.fsync', 'none']] as const,
    input: pairs.map(({ current, incoming }) => `${current} ${incoming}\n`).join(''),
    onOutput: (chunk: Buffer) => void chunks.push(chunk),
  };
  const exit = await processes
    .runMerge(['merge-tree', '--write-tree', '--stdin', '--messages'], options)
    .catch((error: unknown) => {
      failure = error;
    });
  if (exit?.code === 129)
    throw new DomainError('unavailable', 'git 2.39 or later is needed for this', { cause: exit.stderr });
  if (exit && exit.code !== 0 && !neverMerges.test(exit.stderr)) failure = failed('merge-tree', exit.stderr);
  const records = new Records(Buffer.concat(chunks));
  const found: Mergeability[] = [];
  for (const status of records.section()) {
    if (status !== '0' && status !== '1') break;
    const { conflicts, auto_merged } = await readMerge(records);
    if (records.isCut) break;
    found.push({
      clean: status === '1',
      conflicts: conflicts.map(({ path }) => path),
      auto_merged,
      may_follow_renames: true,
    });
  }
  return { found, failure };
}

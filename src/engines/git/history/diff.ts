import { DomainError } from '../../../kernel/errors.ts';
import type { ChangedFile, FileSide, Oid, Patch, TreeDiff } from '../../../ports/git-records.ts';
import type { Config } from '../git-child.ts';
import { type GitProcesses, wallTime } from '../git-process.ts';
import { gitStream, records } from '../git-stream.ts';
import { isOid } from '../objects/object-id.ts';

/**
 * More added and removed files than this are not compared with each other for renames: the work grows with their product. One that was renamed without
 * a change is found all the same, and by merges so is one that kept its name in another directory.
 */
export const renameLimit = '1000';

const diffConfig: Config = [
  ['diff.renameLimit', renameLimit],
  ['core.quotePath', 'false'],
  // Text above it is shown as binary.
  ['core.bigFileThreshold', '512m'],
];

/** Never a program of the repository's choosing (attributes can name some), never colours. */
const plain = ['--no-color', '--no-ext-diff', '--no-textconv'];

/** git has the empty tree without its being stored. @returns its id in the format of another id */
export function emptyTree(like: Oid): Oid {
  return like.length === 64
    ? '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321'
    : '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
}

function sides(base: Oid | null, head: Oid): [Oid, Oid] {
  for (const oid of [base, head]) if (oid !== null && !isOid(oid)) throw new DomainError('not_found', 'No such commit');
  return [base ?? emptyTree(head), head];
}

function unreadable(stderr: string): DomainError {
  return new DomainError('repository_unavailable', 'The comparison could not be made', { cause: new Error(stderr) });
}

/**
 * One page of the files that differ (`diff-tree -z --raw --numstat`). git prints all raw lines, then the line counts in the same order;
 * it is stopped when those of the page have come, since counting is what takes long.
 */
export async function diffTrees(
  processes: GitProcesses,
  gitDir: string,
  base: Oid | null,
  head: Oid,
  page: { skip: number; limit: number },
): Promise<TreeDiff> {
  const args = ['diff-tree', '-r', '-z', '-M', '--raw', '--numstat', '--no-abbrev', ...plain, ...sides(base, head)];
  const child = await processes.start(args, { gitDir, config: diffConfig, timeout: wallTime.read });
  child.streams.stdin.end();
  const reader = new DiffReader(page.skip, page.limit);
  for await (const some of records(child.streams.stdout)) {
    for (const record of some) reader.read(record);
    if (reader.done) break;
  }
  if (reader.done) child.kill(null);
  const { code, ended, stderr, over } = await child.exited;
  if (ended !== null) throw ended;
  if (over !== null) throw over;
  if (!reader.done && code !== 0) throw unreadable(stderr);
  return { files: reader.files, total: reader.total };
}

const statuses: Record<string, ChangedFile['status']> = { A: 'added', D: 'removed', R: 'renamed' };

function side(mode: string, oid: Oid): FileSide | null {
  return mode === '000000' ? null : { oid, mode };
}

/** Takes the records of both sections, whatever pieces they come in. */
class DiffReader {
  readonly files: ChangedFile[] = [];
  total = 0;
  #counted = 0;
  #open: { fields: string[]; paths: string[] } | null = null;
  readonly #from: number;
  readonly #to: number;

  constructor(skip: number, limit: number) {
    this.#from = skip;
    this.#to = skip + limit;
  }

  /** True once the counts of the last file of the page were read; the raw section is complete then. */
  get done(): boolean {
    return this.#counted > 0 && this.#counted >= Math.min(this.#to, this.total);
  }

  read(record: string): void {
    if (this.#open !== null) {
      this.#open.paths.push(record);
      const { fields, paths } = this.#open;
      if (paths.length < (fields[0]?.startsWith(':') && !fields[4]?.startsWith('R') ? 1 : 2)) return;
      this.#open = null;
      if (fields[0]?.startsWith(':')) this.#raw(fields, paths);
      else this.#count(fields);
      return;
    }
    if (record === '') return;
    const fields = record.split(record.startsWith(':') ? ' ' : '\t');
    if (record.startsWith(':') || (fields.length === 3 && fields[2] === '')) this.#open = { fields, paths: [] };
    else this.#count(fields);
  }

  /** `:<mode> <mode> <oid> <oid> <status>` and one path, or two for a rename. */
  #raw([oldMode = '', newMode = '', oldOid = '', newOid = '', status = '']: string[], paths: string[]): void {
    this.total += 1;
    if (this.total <= this.#from || this.total > this.#to) return;
    this.files.push({
      path: paths.at(-1) ?? '',
      previous_path: paths.length > 1 ? (paths[0] ?? null) : null,
      status: statuses[status[0] ?? ''] ?? 'modified',
      base: side(oldMode.slice(1), oldOid),
      head: side(newMode, newOid),
      additions: 0,
      deletions: 0,
      binary: false,
    });
  }

  /** `<added>TAB<deleted>TAB<path>`, of a rename without the path and with two more records; `-` for binary files. */
  #count([additions = '', deletions = '']: string[]): void {
    const file = this.files[this.#counted - this.#from];
    this.#counted += 1;
    if (file === undefined) return;
    file.binary = additions === '-';
    file.additions = Number(additions) || 0;
    file.deletions = Number(deletions) || 0;
  }
}

/** Renames that are listed; a listing of them is held whole. */
const mostRenames = 1_000_000;

/**
 * Former paths of renamed files by their new ones (`diff-tree -z --name-status --diff-filter=R`: a status and two paths for each).
 * @throws DomainError `too_large`, and the reason of the signal
 */
export async function renamedPaths(
  processes: GitProcesses,
  gitDir: string,
  base: Oid,
  head: Oid,
  signal?: AbortSignal,
): Promise<Map<string, string>> {
  const args = ['diff-tree', '-r', '-z', '-M', '--name-status', '--diff-filter=R', ...plain, ...sides(base, head)];
  const options = { gitDir, config: diffConfig, timeout: wallTime.read, ...(signal && { signal }) };
  const found = new Map<string, string>();
  const fields: string[] = [];
  for await (const some of records(gitStream(processes, args, { ...options, what: 'The comparison' }))) {
    for (const record of some) {
      if (fields.push(record) < 3) continue;
      const [, from = '', to = ''] = fields.splice(0);
      found.set(to, from);
    }
    if (found.size > mostRenames)
      throw new DomainError('too_large', `More than ${mostRenames} files were renamed; compare them with a git client`);
  }
  return found;
}

/**
 * Changed files and lines in all (`diff-tree --shortstat`: ` 3 files changed, 4 insertions(+), 1 deletion(-)`).
 * @throws DomainError `git_timeout` after 10 s: it is only shown, and somebody waits for it
 */
export async function diffTotals(processes: GitProcesses, gitDir: string, base: Oid | null, head: Oid) {
  const args = ['diff-tree', '-r', '-M', '--shortstat', ...plain, ...sides(base, head)];
  const text = (await processes.output(args, { gitDir, config: diffConfig, timeout: 10_000 })).toString('latin1');
  const number = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);
  return {
    changed_files: number(/(\d+) files? changed/),
    additions: number(/(\d+) insertion/),
    deletions: number(/(\d+) deletion/),
  };
}

/** The unified diff of one file; git is stopped when there is more of it than `limit` bytes. */
export async function filePatch(
  processes: GitProcesses,
  gitDir: string,
  [base, head]: [base: Oid | null, head: Oid],
  paths: readonly string[],
  limit: number,
): Promise<Patch> {
  for (const path of paths)
    if (path === '' || path.includes('\0')) throw new DomainError('invalid_path', 'path: must name a file');
  const args = ['diff-tree', '-r', '-M', '-p', ...plain, ...sides(base, head), '--', ...paths];
  const child = await processes.start(args, { gitDir, config: diffConfig, timeout: wallTime.read });
  child.streams.stdin.end();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of child.streams.stdout) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limit) break;
  }
  if (size > limit) child.kill(null);
  const { code, ended, stderr, over } = await child.exited;
  if (ended !== null) throw ended;
  if (over !== null) throw over;
  const text = Buffer.concat(chunks);
  if (size > limit) return { text: text.toString('utf8', 0, text.lastIndexOf(0x0a, limit - 1) + 1), truncated: true };
  if (code !== 0) throw unreadable(stderr);
  return { text: text.toString('utf8'), truncated: false };
}

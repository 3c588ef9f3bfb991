import { DomainError } from '../../../kernel/errors.ts';
import type { LogQuery, Oid } from '../../../ports/git-records.ts';
import { type GitProcesses, wallTime } from '../git-process.ts';
import { gitStream, records } from '../git-stream.ts';
import { isOid } from '../objects/object-id.ts';

/** Milliseconds or NaN → whole seconds since 1970, as rev-list takes them. */
function seconds(field: string, text: string): number {
  const value = Math.floor(Date.parse(text) / 1000);
  if (Number.isNaN(value)) throw new DomainError('invalid_filter', `${field}: must be a date and time (RFC 3339)`);
  return value;
}

/** The author is matched as plain text, whatever its case, anywhere in `name <e-mail>`. */
function filters(query: Omit<LogQuery, 'skip'>): string[] {
  const options: string[] = [];
  if (query.author !== undefined) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a newline would be a second pattern
    if (/[\u0000-\u001f]/.test(query.author))
      throw new DomainError('invalid_filter', 'author: must not contain control characters');
    options.push('--fixed-strings', '--regexp-ignore-case', `--author=${query.author}`);
  }
  if (query.since !== undefined) options.push(`--max-age=${seconds('since', query.since)}`);
  if (query.until !== undefined) options.push(`--min-age=${seconds('until', query.until)}`);
  return options;
}

/** A query, and a commit whose history is left out. */
type Walk = Omit<LogQuery, 'skip'> & { without?: Oid };

/** Start and paths go over stdin, where neither can be an option: revisions, `--`, then one path a line. */
function input(query: Walk): string {
  if (!isOid(query.from) || (query.without !== undefined && !isOid(query.without)))
    throw new DomainError('not_found', 'No such commit');
  const paths = query.paths ?? [];
  for (const path of paths)
    if (/[\0\n]/.test(path)) throw new DomainError('invalid_path', 'path: must not contain control characters');
  const without = query.without === undefined ? [] : [`^${query.without}`];
  return [query.from, ...without, '--', ...paths, ''].join('\n');
}

/** Commits reachable from `from`, newest first. */
export async function listCommits(
  processes: GitProcesses,
  gitDir: string,
  query: Walk & { skip: number },
): Promise<Oid[]> {
  const args = ['rev-list', ...filters(query), `--skip=${query.skip}`, `--max-count=${query.limit}`, '--stdin'];
  const text = await processes.output(args, { gitDir, input: input(query) });
  return text.toString('latin1').split('\n').filter(isOid);
}

export async function countCommits(
  processes: GitProcesses,
  gitDir: string,
  query: Omit<LogQuery, 'skip'>,
): Promise<number> {
  const args = ['rev-list', '--count', ...filters(query), `--max-count=${query.limit}`, '--stdin'];
  return Number((await processes.output(args, { gitDir, input: input(query) })).toString('latin1').trim());
}

/** True when a commit is an ancestor of a visible ref: then nothing is left of it after excluding what those refs reach. */
export async function isVisible(processes: GitProcesses, gitDir: string, oid: Oid): Promise<boolean> {
  const refs = ['--branches', '--tags', '--glob=refs/pull/*'];
  const { code, stdout } = await processes.run(['rev-list', '--max-count=1', oid, '--not', ...refs], { gitDir });
  return code === 0 && stdout.length === 0;
}

/** How long it is looked for a version of a file, milliseconds: writers of its branch may wait meanwhile. */
const versionTime = 5_000;

/** True when a commit that a ref shown to clients reaches has a blob at a path, also one whose side lost a merge. */
export async function hasVersion(processes: GitProcesses, gitDir: string, path: string, oid: Oid): Promise<boolean> {
  if (!isOid(oid)) return false;
  const found = [`--find-object=${oid}`, '--full-history', '-m', '--max-count=1', '--no-patch', '--format=%H'];
  try {
    const args = ['log', ...found, ...shown, '--', path];
    return (await processes.output(args, { gitDir, timeout: versionTime })).length > 0;
  } catch (error) {
    if (error instanceof DomainError && error.code === 'git_timeout') return false;
    throw error;
  }
}

/** Every ref that git clients are shown. */
export const shown = ['--exclude=refs/portico/*', '--exclude=refs/remotes/*', '--all'];

/** What pull requests are compared with: branches have shown it to git clients. */
export const pullBases = 'refs/portico/pull/';
const everShown = [...shown, `--glob=${pullBases}*`];

/** What git clients are not shown: rescued commits, and what is known of an upstream. */
const aside = [`--exclude=${pullBases}*`, '--glob=refs/portico/*', '--glob=refs/remotes/*'];

/** Which of some objects `git rev-list` comes upon. It is ended when it has come upon all of them. @throws DomainError `git_timeout` after two minutes */
async function among(
  processes: GitProcesses,
  gitDir: string,
  revisions: readonly string[],
  oids: ReadonlySet<Oid>,
  signal: AbortSignal,
): Promise<Set<Oid>> {
  const args = ['rev-list', '--objects', '--no-object-names', '--in-commit-order', ...revisions];
  const found = new Set<Oid>();
  let open = '';
  const options = { gitDir, signal, timeout: wallTime.merge, what: 'The history' };
  for await (const chunk of gitStream(processes, args, options)) {
    const lines = (open + chunk.toString('latin1')).split('\n');
    open = lines.pop() ?? '';
    for (const line of lines) if (oids.has(line)) found.add(line);
    if (found.size === oids.size) break;
  }
  return found;
}

/**
 * One of some objects that only refs reach which git clients are not shown; null: none. What no ref reaches at all is none: clients that cloned a
 * part, or have a list of refs, still fetch what a branch had that was deleted or rewritten meanwhile.
 */
export async function hiddenObject(
  processes: GitProcesses,
  gitDir: string,
  oids: ReadonlySet<Oid>,
  signal: AbortSignal,
): Promise<Oid | null> {
  // Of what the refs after `--not` reach git leaves out all commits, but only such files and trees as it comes upon at the border of both histories.
  const left = await among(processes, gitDir, [...aside, '--not', ...everShown], oids, signal);
  if (left.size === 0) return null;
  const others = await among(processes, gitDir, everShown, left, signal);
  return [...left].find((oid) => !others.has(oid)) ?? null;
}

/** Commits each side of two has alone. */
export async function aheadBehind(
  processes: GitProcesses,
  gitDir: string,
  head: Oid,
  base: Oid,
): Promise<[number, number]> {
  if (!isOid(head) || !isOid(base)) throw new DomainError('not_found', 'No such commit');
  const text = await processes.output(['rev-list', '--left-right', '--count', '--stdin'], {
    gitDir,
    input: `${head}...${base}\n`,
  });
  const [ahead = 0, behind = 0] = text.toString('latin1').trim().split('\t').map(Number);
  return [ahead, behind];
}

/** git compares each name of a tree with each path it is given: of more paths, the whole history is read instead. */
const mostGivenPaths = 200;

/**
 * For each path the newest commit that touched it. git is stopped as soon as all are found; a merge counts where it differs from all
 * of its parents.
 */
export async function lastCommits(
  processes: GitProcesses,
  gitDir: string,
  from: Oid,
  paths: readonly string[],
): Promise<Map<string, Oid>> {
  const found = new Map<string, Oid>();
  if (paths.length === 0) return found;
  const args = [
    'log',
    '--diff-merges=combined',
    '--no-renames',
    '--name-only',
    '-z',
    '--format=tformat:%x00commit %H',
    '--stdin',
  ];
  const child = await processes.start(args, { gitDir, timeout: wallTime.read });
  child.streams.stdin.end(input({ from, paths: paths.length > mostGivenPaths ? [] : [...paths], limit: 0 }));
  const wanted = new Set(paths);
  let commit = '';
  for await (const tokens of records(child.streams.stdout)) {
    for (const token of tokens) {
      // The first name of a commit stands on a line of its own.
      const name = token.replace(/^\n/, '');
      if (token.startsWith('commit ') && isOid(token.slice(7))) commit = token.slice(7);
      else if (wanted.delete(name)) found.set(name, commit);
    }
    if (wanted.size === 0) break;
  }
  child.kill(null);
  const { ended, code, stderr, over } = await child.exited;
  if (ended !== null) throw ended;
  if (over !== null) throw over;
  if (wanted.size > 0 && code !== 0)
    throw new DomainError('repository_unavailable', 'The history could not be read', { cause: stderr });
  return found;
}

import { checkRefName } from '../../../domain/studio/ref-name.ts';
import { DomainError } from '../../../kernel/errors.ts';
import { storageFull } from '../../../kernel/unavailable.ts';
import type { Oid } from '../../../ports/git-records.ts';
import type { PushMove, Upstream, UpstreamPush, UpstreamRefs } from '../../../ports/git-transfer.ts';
import { BoundExceeded } from '../bounds.ts';
import { type GitOutput, type GitProcesses, type Log, wallTime } from '../git-process.ts';
import type { TreeLimits } from '../incoming/limits.ts';
import { isOid } from '../objects/object-id.ts';
import type { GitRepository } from '../repository.ts';
import { incomingObjects } from '../upkeep/fsck.ts';
import { kindFor, mostFetched, type Reach, type UpstreamOptions, withReach } from './reach.ts';
import { failureOf, isDamage, isIncomplete, isStorageFull, upstreamError } from './upstream-failure.ts';

export interface UpstreamContext {
  processes: GitProcesses;
  options: UpstreamOptions;
  limits: TreeLimits;
  log: Log;
  signal: AbortSignal;
}

/** Of an upstream's own words, characters. */
const longestMessage = 1_000;

/** Of all branches and tags of an upstream with their ids, bytes: some 150,000 of them. */
export const mostRefs = 16 * 1024 * 1024;

/** Where fetched branches stand; clients never see them. */
export const tracking = 'refs/remotes/upstream';

/**
 * What the upstream has, before it is looked at; stands still between fetches, so that only what is new costs anything. Branches that are left
 * out for their names are nowhere else.
 */
export const aside = 'refs/portico/upstream';

/** The branches of an upstream (`ls-remote --symref`: `ref: <target>TABHEAD`, then `<oid>TAB<ref>`). */
export async function lsRemote(context: UpstreamContext, upstream: Upstream): Promise<UpstreamRefs> {
  const { stdout } = await speak(context, upstream, wallTime.read, ({ url }) => [
    'ls-remote',
    '--symref',
    '--end-of-options',
    url,
    'HEAD',
    'refs/heads/*',
  ]);
  const text = stdout.toString('utf8');
  const branches = text
    .split('\n')
    .map((line) => line.split('\t'))
    .flatMap(([oid = '', name = '']) => (isOid(oid) && name.startsWith('refs/heads/') ? [{ name, oid }] : []));
  return { default_branch: /^ref: refs\/heads\/(.+)\tHEAD$/m.exec(text)?.[1] ?? null, branches };
}

/**
 * One commit to one branch, or none: the branch is replaced or deleted while it holds what is expected. As the upstream answers it (git-push,
 * "--porcelain").
 */
export async function pushUpstream(
  context: UpstreamContext,
  repository: GitRepository,
  upstream: Upstream,
  { branch, oid, expected }: PushMove,
): Promise<UpstreamPush> {
  const ref = `refs/heads/${checkRefName('branch', branch)}`;
  if (oid !== null) await repository.commit(oid);
  // Not by force: the lease makes the upstream compare before it replaces or deletes.
  const lease = expected === undefined ? [] : [`--force-with-lease=${ref}:${expected}`];
  const { gitDir } = repository;
  const output = await spoken(
    context,
    upstream,
    wallTime.fetch,
    ({ url }) => [
      'push',
      '--porcelain',
      '--no-recurse-submodules',
      ...lease,
      '--end-of-options',
      url,
      `${oid ?? ''}:${ref}`,
    ],
    gitDir,
  );
  if ('failure' in output) return { outcome: output.failure };
  const [flag = '', , summary = ''] = statusLine(output.stdout.toString('utf8'), ref);
  if (output.code === 0 && ' +*=-'.includes(flag)) {
    // git only distinguishes named remotes; what is known of this one is known now.
    await track(repository, branch, oid);
    return { outcome: 'ok' };
  }
  if (flag === '!') return rejection(summary, output.stderr, expected !== undefined);
  context.log.warn({ stderr: output.stderr }, 'an upstream could not be pushed to');
  return { outcome: failureOf(output.stderr) };
}

/** Both places move: what a fetch leaves alone aside is then never older than a push. */
async function track(repository: GitRepository, branch: string, to: Oid | null): Promise<void> {
  const refs = [tracking, aside].map((place) => `${place}/${branch}`);
  const held = await Promise.all(refs.map((ref) => repository.refs.read(ref)));
  // To delete what is not there is an error of git.
  await repository.moveRefs(refs.filter((_, at) => held[at] !== to).map((ref) => ({ ref, to })));
}

/** `<flag>TAB<from>:<to>TAB<summary> (<reason>)` */
function statusLine(text: string, ref: string): string[] {
  const line = text.split('\n').find((line) => line.split('\t')[1]?.endsWith(`:${ref}`));
  return line?.split('\t') ?? [];
}

function rejection(summary: string, stderr: string, isLeased: boolean): UpstreamPush {
  // The last three are what servers say when two push at the same moment.
  const moved = /non-fast-forward|fetch first|stale info|failed to update ref|cannot lock ref|incorrect old value/;
  // What replaces a branch is no fast-forward, which the upstream's rules may require.
  const isRule = isLeased && summary.includes('non-fast-forward');
  if (moved.test(summary) && !isRule) return { outcome: 'non_fast_forward' };
  // The upstream's own messages arrive line by line, padded; git's summary says less.
  const said = [...stderr.matchAll(/^remote: (.*)$/gm)].map(([, line = '']) => line.trimEnd()).join('\n');
  const reason = summary.endsWith(')') ? summary.slice(summary.indexOf('(') + 1, -1) : summary;
  return { outcome: 'declined', message: (said || reason).replace(/[^\P{Cc}\n]/gu, '?').slice(0, longestMessage) };
}

type Spoken = GitOutput | { failure: 'timeout' };

async function spoken(
  { processes, options, signal }: UpstreamContext,
  upstream: Upstream,
  timeout: number,
  args: (way: Reach) => string[],
  gitDir?: string,
): Promise<Spoken> {
  const source = { ...upstream, kind: kindFor(upstream.auth) };
  return withReach(source, options, async (way) => {
    const config = [...way.config, ...incomingObjects('fetch')];
    try {
      const { fetchCpu: cpu } = options;
      const place = { ...(gitDir !== undefined && { gitDir }), ...(cpu !== undefined && { cpu }) };
      return await processes.runNow(args(way), {
        ...place,
        config,
        env: way.env,
        timeout,
        signal,
        outgoing: true,
        mostOutput: mostRefs,
        mostFile: mostFetched(options),
      });
    } catch (error) {
      const isLate = error instanceof DomainError && error.code === 'git_timeout';
      // The upstream has no part in how much work its objects are.
      if (isLate && !(error instanceof BoundExceeded)) return { failure: 'timeout' };
      throw error;
    }
  });
}

/** Like `spoken`, but everything else than success is an error. */
export async function speak(context: UpstreamContext, ...rest: [Upstream, number, (way: Reach) => string[], string?]) {
  const output = await spoken(context, ...rest);
  if (!('failure' in output) && output.code === 0) return output;
  if ('failure' in output) throw upstreamError(output.failure);
  context.log.warn({ stderr: output.stderr }, 'an upstream could not be used');
  if (isStorageFull(output.stderr)) throw storageFull(new Error(output.stderr));
  if (isIncomplete(output.stderr)) throw upstreamError('incomplete');
  throw upstreamError(isDamage(output.stderr) ? 'damaged' : failureOf(output.stderr));
}

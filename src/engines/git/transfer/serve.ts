import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { DomainError } from '../../../kernel/errors.ts';
import type { GitServeRequest, RefMove } from '../../../ports/git-transfer.ts';
import { exceeded } from '../bounds.ts';
import { syncDirectories } from '../durable-files.ts';
import type { Config, GitChild } from '../git-child.ts';
import { type GitProcesses, type Log, wallTime } from '../git-process.ts';
import { directoriesOf } from '../refs/ref-updater.ts';
import type { Lendable } from '../slots.ts';
import { incomingObjects } from '../upkeep/fsck.ts';
import { type PushEnd, packetLine, pushAnswer } from './push-answer.ts';
import type { OpenHook } from './push-hook.ts';

export interface ServedRepository {
  processes: GitProcesses;
  gitDir: string;
  log: Log;
  /** Milliseconds without a byte from either side after which the client counts as gone. git itself sends something every 5 s while it works. */
  silence: number;
  /** Processor time of git, and of each process it starts, for one push; seconds. */
  pushCpu: number;
}

/** Milliseconds a client may take for a piece of an answer before others get its slot: git stands still then, and needs none. */
const lendAfter = 1_000;

/** Processor time of git, and of each process it starts, for one fetch or clone; seconds. */
const fetchCpu = wallTime.fetch / 1000;

const pushPolicy: Config = [
  ['receive.maxInputSize', '2g'],
  ['receive.autogc', 'false'],
  // Clients end a push with options where they are not advertised; nothing here reads them.
  ['receive.advertisePushOptions', 'true'],
  ...incomingObjects('receive'),
];

/**
 * Filters of partial clones are the ones of git's own clients: one by patterns that lie in the repository has them matched against every path of
 * every commit, one of many parts or depths goes through the objects for each, and either holds a slot for minutes by a request of a few bytes.
 */
const fetchPolicy: Config = [
  ['uploadpackfilter.allow', 'false'],
  ['uploadpackfilter.blob:none.allow', 'true'],
  ['uploadpackfilter.blob:limit.allow', 'true'],
  ['uploadpackfilter.tree.allow', 'true'],
  ['uploadpackfilter.tree.maxDepth', '1'],
];

/** Only branches and tags can be pushed: all else is hidden from pushes. */
const branchesAndTags: Config = [
  ['receive.hideRefs', 'refs'],
  ['receive.hideRefs', '!refs/heads'],
  ['receive.hideRefs', '!refs/tags'],
];

/** git passes over commands on hidden refs before it runs the hook, which would see the rest of such a push only, or not run at all. */
const allToHook: Config = [['receive.hideRefs', '!refs']];

/** Refuses rewrites and deletions, for pushes without a hook. */
const unasked: Config = [
  ['receive.denyDeletes', 'true'],
  ['receive.denyNonFastForwards', 'true'],
];

/** Hidden from clients: rescue and import refs, and what is known of an upstream. */
const visibility: Config = [
  ['transfer.hideRefs', 'refs/portico'],
  ['transfer.hideRefs', 'refs/remotes'],
];

/**
 * Answers one request of git's smart HTTP protocol with git itself.
 *
 * @param hook decides about a push; without it rewrites and deletions are refused
 * @param moves what a push may have moved, once it is over
 * @param slot of a fetch, whose git stands still as long as the client does not read
 * @param onEnd called when git is done with a push, before its client has the report: it may leave that unread
 * @throws DomainError before any byte is written when git could not start or said nothing; after that the output ends early
 */
export async function serveGit(
  { processes, gitDir, log, silence, pushCpu }: ServedRepository,
  request: GitServeRequest,
  {
    hook = null,
    moves = () => [],
    slot = null,
    onEnd = async () => {},
  }: {
    hook?: OpenHook | null;
    moves?: () => readonly RefMove[];
    slot?: Lendable | null;
    onEnd?: () => Promise<void>;
  } = {},
): Promise<void> {
  const { service, advertise, output, signal } = request;
  const isPush = service === 'git-receive-pack' && !advertise;
  // Pushes do not support version 2; git clients request it only when they fetch.
  const protocol = service === 'git-upload-pack' ? request.protocol : null;
  const quarantines: string[] = [];
  /** Ends the wait for a slot that nothing needs any longer. */
  const gone = new AbortController();
  /** A write to a client that stopped reading would wait for ever. */
  const cutOff = () => {
    if (output.writableNeedDrain) output.destroy();
  };
  const child = processes.spawn(
    [service.slice('git-'.length), '--stateless-rpc', ...(advertise ? ['--http-backend-info-refs'] : []), gitDir],
    {
      config: [
        ...visibility,
        ...(service === 'git-upload-pack' ? fetchPolicy : [...pushPolicy, ...(hook ? allToHook : branchesAndTags)]),
        ...(service === 'git-receive-pack' ? (hook?.config ?? unasked) : []),
        ['safe.directory', gitDir],
      ],
      env: { ...(protocol === null ? {} : { GIT_PROTOCOL: protocol }), ...hook?.env },
      signal,
      cpu: isPush ? pushCpu : fetchCpu,
      onKill: (group) => {
        if (isPush) quarantines.push(...quarantinesOf(group, gitDir));
        cutOff();
        gone.abort();
      },
    },
  );
  const watchdog = setTimeout(() => {
    if (slot?.isWaiting) return void watchdog.refresh();
    child.kill(new DomainError('request_timeout', 'The connection was silent for too long'));
    cutOff();
  }, silence);
  feed(child, request, watchdog);
  let written = 0;
  const show = (packet: Buffer) => {
    watchdog.refresh();
    written += packet.length;
    if (!output.destroyed) output.write(packet);
  };
  const settle = async (end: PushEnd) => {
    const message = await settlePush(child, gitDir, moves, end);
    await onEnd();
    return message;
  };
  /** What git keeps without a slot counts together with that of others. */
  const lend = () => {
    if (slot === null) return;
    slot.lend();
    processes.unread.watch(child, request.client);
  };
  const answer = async function* () {
    if (advertise && protocol !== 'version=2') yield Buffer.from(`${packetLine(`# service=${service}\n`)}0000`);
    const { stdout } = child.streams;
    for await (const chunk of isPush ? pushAnswer(stdout, show, settle) : stdout) {
      watchdog.refresh();
      written += chunk.length;
      const lending = setTimeout(lend, lendAfter);
      try {
        yield chunk;
      } finally {
        clearTimeout(lending);
      }
      await slot?.regain(gone.signal);
      processes.unread.leaveOut(child);
      watchdog.refresh();
    }
  };
  try {
    await pipeline(answer, output, { end: false });
  } catch (error) {
    child.kill(error);
  } finally {
    clearTimeout(watchdog);
    processes.unread.leaveOut(child);
  }
  const { code, ended, over, stderr } = await child.exited;
  for (const path of quarantines) await rm(path, { recursive: true, force: true });
  if (ended !== null) throw ended;
  if (code === 0) return;
  log.warn({ service, code, stderr }, 'git ended a request with an error');
  // What git has to say about a bad request it has said to the client, in the protocol's own words.
  if (written === 0 && over !== null) throw over;
  const cause = new Error(stderr);
  if (written === 0) throw new DomainError('repository_unavailable', 'The repository could not be served', { cause });
}

/**
 * Directories in which the processes of a group keep what a push brings, by their environment (git-receive-pack, "Quarantine environment"): since
 * 2.39 git leaves them when it is ended by a signal. Where there is no /proc they stay until maintenance.
 */
function quarantinesOf(group: number, gitDir: string): string[] {
  const found = new Set<string>();
  const beginning = join(gitDir, 'objects', 'tmp_objdir-incoming-');
  for (const pid of existsSync('/proc/self/stat') ? readdirSync('/proc') : []) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      // Behind the name, which may hold anything: state, parent and group (proc_pid_stat(5)).
      const [, , of] = (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1) ?? '').split(' ');
      if (Number(of) !== group) continue;
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      const path = environment
        .find((one) => one.startsWith('GIT_QUARANTINE_PATH='))
        ?.split('=')
        .slice(1)
        .join('=');
      if (path && resolve(gitDir, path).startsWith(resolve(beginning))) found.add(resolve(gitDir, path));
    } catch {
      // It has ended meanwhile.
    }
  }
  return [...found];
}

/** The request's bytes are written as fast as git takes them; git may read no further than it needs. */
function feed(child: GitChild, { input, advertise }: GitServeRequest, watchdog: NodeJS.Timeout): void {
  const { stdin } = child.streams;
  if (advertise) {
    stdin.end();
    return;
  }
  stdin.on('error', () => input.destroy());
  input.on('data', () => watchdog.refresh());
  input.once('error', (error) => child.kill(error));
  input.pipe(stdin);
}

/** What git may have made a file of: a client can send any name. */
const isRef = /^refs\/(?!.*\.\.)/s;

/**
 * Waits until a push is over and durable: git synced the packs and refs, the directories their names stand in are left to us.
 *
 * @returns what the client should read: the bound at which it was stopped
 */
async function settlePush(
  child: GitChild,
  gitDir: string,
  moves: () => readonly RefMove[],
  { unpacked, said }: PushEnd,
): Promise<string | null> {
  const { signal, stderr } = await child.exited;
  await syncDirectories([gitDir, join(gitDir, 'objects'), join(gitDir, 'objects/pack')]);
  const moved = moves().filter(({ ref }) => isRef.test(ref));
  await syncDirectories(
    directoriesOf(
      gitDir,
      moved.map(({ ref, new: to }) => ({ ref, to })),
    ),
  );
  const over = unpacked ? null : exceeded(child.bounds, { signal, stderr: `${said}\n${stderr}` });
  return over && `The push was refused: ${over.message}`;
}

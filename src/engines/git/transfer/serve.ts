import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { DomainError } from '../../../domain/errors.ts';
import type { GitServeRequest } from '../../../domain/ports/git-transfer.ts';
import { syncDirectories, syncDirectoryTree } from '../durable-files.ts';
import type { Config, GitChild } from '../git-child.ts';
import type { GitProcesses, Log } from '../git-process.ts';
import { incomingObjects } from '../upkeep/fsck-policy.ts';
import type { OpenHook } from './push-hook.ts';

export interface ServedRepository {
  processes: GitProcesses;
  gitDir: string;
  log: Log;
  /** Neither side said anything for this long: the client is gone. git itself says something every 5 s while it works. Milliseconds. */
  silence: number;
}

/** Only branches and tags can be pushed: all else is hidden from pushes. */
const pushPolicy: Config = [
  ['receive.hideRefs', 'refs'],
  ['receive.hideRefs', '!refs/heads'],
  ['receive.hideRefs', '!refs/tags'],
  ['receive.maxInputSize', '2g'],
  ['receive.autogc', 'false'],
  ['receive.advertisePushOptions', 'false'],
  ...incomingObjects('receive'),
];

/** Nothing can be rewritten or deleted: where nobody is asked about a push. */
const unasked: Config = [
  ['receive.denyDeletes', 'true'],
  ['receive.denyNonFastForwards', 'true'],
];

/** Hidden from clients: rescue and import refs, and what is known of an upstream. */
const visibility: Config = [
  ['transfer.hideRefs', 'refs/portico'],
  ['transfer.hideRefs', 'refs/remotes'],
];

/** `<four hexadecimal digits of the whole length><text>` (gitprotocol-common, pkt-line). */
function packetLine(text: string): string {
  return (text.length + 4).toString(16).padStart(4, '0') + text;
}

/**
 * Answers one request of git's smart HTTP protocol with git itself.
 *
 * @param hook decides about a push; without it rewrites and deletions are refused
 * @throws DomainError before any byte is written when git could not start or said nothing; after that the output ends early
 */
export async function serveGit(
  { processes, gitDir, log, silence }: ServedRepository,
  request: GitServeRequest,
  hook: OpenHook | null = null,
): Promise<void> {
  const { service, advertise, output, signal } = request;
  // Pushes know no version 2; git clients ask for it only when they fetch.
  const protocol = service === 'git-upload-pack' ? request.protocol : null;
  const child = processes.spawn(
    [service.slice('git-'.length), '--stateless-rpc', ...(advertise ? ['--http-backend-info-refs'] : []), gitDir],
    {
      config: [
        ...visibility,
        ...(service === 'git-receive-pack' ? [...pushPolicy, ...(hook?.config ?? unasked)] : []),
        ['safe.directory', gitDir],
      ],
      env: { ...(protocol === null ? {} : { GIT_PROTOCOL: protocol }), ...hook?.env },
      signal,
    },
  );
  const watchdog = setTimeout(() => {
    child.kill(new DomainError('request_timeout', 'The connection was silent for too long'));
    // What waits for room at a client that reads no further would wait for ever.
    if (output.writableNeedDrain) output.destroy();
  }, silence);
  feed(child, request, watchdog);
  let written = 0;
  const answer = async function* () {
    if (advertise && protocol !== 'version=2') yield Buffer.from(`${packetLine(`# service=${service}\n`)}0000`);
    for await (const chunk of held(
      child,
      service === 'git-receive-pack' && !advertise ? () => settlePush(child, gitDir) : null,
    )) {
      watchdog.refresh();
      written += chunk.length;
      yield chunk;
    }
  };
  try {
    await pipeline(answer, output, { end: false });
  } catch (error) {
    child.kill(error);
  } finally {
    clearTimeout(watchdog);
  }
  const { code, ended, stderr } = await child.exited;
  if (ended !== null) throw ended;
  if (code === 0) return;
  log.warn({ service, code, stderr }, 'git ended a request with an error');
  // What git has to say about a bad request it has said to the client, in the protocol's own words.
  if (written === 0) throw new DomainError('repository_unavailable', 'The repository could not be served');
}

/**
 * The request's bytes go in as fast as git takes them. When git has heard enough the rest is read and dropped: to close the
 * connection would cut off the answer.
 */
function feed(child: GitChild, { input, advertise }: GitServeRequest, watchdog: NodeJS.Timeout): void {
  const { stdin } = child.streams;
  if (advertise) {
    stdin.end();
    return;
  }
  stdin.on('error', () => {
    input.unpipe(stdin);
    input.resume();
  });
  input.on('data', () => watchdog.refresh());
  input.once('error', (error) => child.kill(error));
  input.once('close', () => {
    if (!input.readableEnded) child.kill(new DomainError('request_timeout', 'The client went away'));
  });
  input.pipe(stdin);
}

/** git's output, its last piece only after `settled`: the client takes a push for done when it has read the end. */
async function* held(child: GitChild, settled: (() => Promise<void>) | null): AsyncGenerator<Buffer> {
  if (settled === null) {
    yield* child.streams.stdout;
    return;
  }
  let last: Buffer | null = null;
  for await (const chunk of child.streams.stdout) {
    if (last !== null) yield last;
    last = chunk;
  }
  await settled();
  if (last !== null) yield last;
}

/** git synced the pushed packs and refs; the directories their names stand in are left to us. */
async function settlePush(child: GitChild, gitDir: string): Promise<void> {
  await child.exited;
  await syncDirectories([gitDir, join(gitDir, 'objects'), join(gitDir, 'objects/pack')]);
  await syncDirectoryTree(join(gitDir, 'refs'));
}

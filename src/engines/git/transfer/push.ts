import type { Readable } from 'node:stream';
import { DomainError } from '../../../kernel/errors.ts';
import type { GitServeRequest, PushVerdict, RefMove } from '../../../ports/git-transfer.ts';
import { wallTime } from '../git-process.ts';
import { checkIncoming } from '../incoming/check-incoming.ts';
import type { IncomingLimits, Tip } from '../incoming/limits.ts';
import { checkMessages } from '../incoming/messages.ts';
import type { GitRepository } from '../repository.ts';
import { packetAt } from './push-answer.ts';
import type { HookCall, PushHooks } from './push-hook.ts';
import { parseCommands, Quarantine, quarantineEnvironment } from './pushed-objects.ts';
import { type ServedRepository, serveGit } from './serve.ts';

/** How long a push waits for the writers of its branches, milliseconds. */
const patience = 60_000;
/** How long it may take to check one, milliseconds: it holds a slot of all pushes meanwhile. */
const longestCheck = wallTime.fetch;

interface Push extends ServedRepository {
  repository: GitRepository;
  hooks: PushHooks;
  limits: IncomingLimits;
  request: GitServeRequest & Required<Pick<GitServeRequest, 'authorizePush'>>;
}

/** Serves one push that is decided about while its objects are in quarantine; its branches hold still until git is done with it. */
export async function servePush(push: Push): Promise<void> {
  const { repository, hooks, log, request } = push;
  const over = new AbortController();
  const signal = AbortSignal.any([request.signal, over.signal]);
  let release = () => {};
  let concerned: string[] = [];
  let allowed: RefMove[] = [];
  const hook = await hooks.open(async (call) => {
    try {
      const late = AbortSignal.timeout(longestCheck);
      const { verdict, commands, branches } = await decide(push, call, AbortSignal.any([signal, late])).catch(
        (error) => {
          throw late.aborted ? new DomainError('git_timeout', 'the check took too long', { cause: error }) : error;
        },
      );
      if (!verdict.allow) return { allow: false, message: printable(verdict.message) };
      concerned = branches;
      const held = await repository.holdBranches(branches, AbortSignal.any([signal, AbortSignal.timeout(patience)]));
      if (!signal.aborted) release = held;
      // The push ended in the same moment: nothing would release them.
      else held();
      allowed = commands;
      return verdict;
    } catch (err) {
      if (err instanceof DomainError && err.code === 'too_large')
        return { allow: false, message: printable(err.message) };
      log.warn({ err }, 'a push could not be checked');
      if (err instanceof DomainError && err.code === 'git_timeout')
        return { allow: false, message: 'to check this push took too long; push fewer commits at a time' };
      return { allow: false, message: 'this push could not be checked; try again' };
    }
  });
  const commands = commandsOf(request.input);
  try {
    await serveGit(push, request, { hook });
  } finally {
    hook.close();
    over.abort(new Error('the push is over'));
    const moved = await movedOf(repository, allowed).catch((err: unknown) => {
      log.error({ err }, 'the refs could not be read after a push');
      return [];
    });
    request.settledPush?.({ commands, moved });
    release();
    repository.moved(concerned.map((branch) => `refs/heads/${branch}`));
  }
}

const onlyPublished: PushVerdict = { allow: false, message: 'only branches and tags can be pushed' };

async function decide(
  { processes, gitDir, limits, request }: Push,
  call: HookCall,
  signal: AbortSignal,
): Promise<{ verdict: PushVerdict; commands: RefMove[]; branches: string[] }> {
  const place = { processes, gitDir, env: await quarantineEnvironment(gitDir, call.quarantine), signal };
  const pushed = new Quarantine(place);
  const lines = parseCommands(call.lines);
  // First of all: what is looked at afterwards has an end then.
  const tips = lines.flatMap(tipOf);
  await checkIncoming(place, tips, { scope: 'new' }, limits);
  await checkMessages(place, tips);
  const commands = await Promise.all(
    lines.map(async (command) => ({ ...command, forced: await pushed.isForced(command) })),
  );
  const decided = await request.authorizePush(commands, pushed).finally(() => pushed.close());
  // Whatever the rules say: git takes any ref here, and the others are ours.
  const published = commands.every(({ ref }) => /^refs\/(heads|tags)\//.test(ref));
  const verdict = decided.allow && !published ? onlyPublished : decided;
  const heads = commands.map(({ ref }) => ref).filter((ref) => ref.startsWith('refs/heads/'));
  return { verdict, commands, branches: heads.map((ref) => ref.slice('refs/heads/'.length)) };
}

/** More are kept of no push; rules allow fewer. */
const mostCommands = 10_000;

/**
 * The commands at the head of a push (gitprotocol-pack, "Reference Update Request"), also those git refuses before it runs the hook; filled
 * while git reads them.
 */
function commandsOf(input: Readable): readonly RefMove[] {
  const found: RefMove[] = [];
  let open: Buffer = Buffer.alloc(0);
  const read = (chunk: Buffer) => {
    open = open.length === 0 ? chunk : Buffer.concat([open, chunk]);
    let at = 0;
    for (let packet = packetAt(open, at); packet !== null && packet.length > 0; packet = packetAt(open, at)) {
      at += packet.length;
      const [, old, new_, ref] =
        /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ([^\0\n]+)/.exec(packet.toString('utf8', 4)) ?? [];
      const known = (oid = '') => (/^0+$/.test(oid) ? null : oid);
      if (ref !== undefined) found.push({ ref, old: known(old), new: known(new_) });
      if (packet.length > 4 && found.length < mostCommands) continue;
      input.off('data', read);
      return;
    }
    open = open.subarray(at);
  };
  input.on('data', read);
  return found;
}

/** Which of some moves are done: git reports each to the client, and the client may be gone. */
async function movedOf(repository: GitRepository, moves: readonly RefMove[]): Promise<RefMove[]> {
  if (moves.length === 0) return [];
  const lists = await Promise.all(['refs/heads', 'refs/tags'].map((prefix) => repository.refsBelow(prefix)));
  const now = new Map(lists.flat().map(({ name, oid }) => [name, oid]));
  return moves.filter((move) => (now.get(move.ref) ?? null) === move.new);
}

function tipOf({ ref, new: oid }: RefMove): Tip[] {
  return oid === null ? [] : [{ name: ref.replace(/^refs\/(heads|tags)\//, ''), oid }];
}

/** The client's terminal shows what we say. */
function printable(message: string): string {
  return message.replace(/[^\P{Cc}\n]/gu, '?');
}

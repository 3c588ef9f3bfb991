import { DomainError } from '../../../domain/errors.ts';
import type { GitServeRequest, PushCommand, PushVerdict } from '../../../domain/ports/git-transfer.ts';
import { checkIncoming } from '../incoming/check-incoming.ts';
import type { IncomingLimits, Tip } from '../incoming/limits.ts';
import type { GitRepository } from '../repository.ts';
import type { HookCall, PushHooks } from './push-hook.ts';
import { parseCommands, Quarantine, quarantineEnvironment } from './pushed-objects.ts';
import { type ServedRepository, serveGit } from './serve.ts';

/** How long a push waits for the writers of its branches, milliseconds. */
const patience = 60_000;

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
  const hook = await hooks.open(async (call) => {
    try {
      const { verdict, branches } = await decide(push, call, signal);
      if (!verdict.allow) return { allow: false, message: printable(verdict.message) };
      concerned = branches;
      const held = await repository.holdBranches(branches, AbortSignal.any([signal, AbortSignal.timeout(patience)]));
      if (!signal.aborted) release = held;
      // The push ended in the same moment: nobody would release them.
      else held();
      return verdict;
    } catch (err) {
      if (err instanceof DomainError && err.code === 'too_large')
        return { allow: false, message: printable(err.message) };
      log.warn({ err }, 'a push could not be checked');
      return { allow: false, message: 'this push could not be checked; try again' };
    }
  });
  try {
    await serveGit(push, request, hook);
  } finally {
    hook.close();
    over.abort(new Error('the push is over'));
    release();
    repository.moved(concerned.map((branch) => `refs/heads/${branch}`));
  }
}

async function decide(
  { processes, gitDir, limits, request }: Push,
  call: HookCall,
  signal: AbortSignal,
): Promise<{ verdict: PushVerdict; branches: string[] }> {
  const place = { processes, gitDir, env: await quarantineEnvironment(gitDir, call.quarantine), signal };
  const pushed = new Quarantine(place);
  const lines = parseCommands(call.lines);
  // First of all: what is looked at afterwards has an end then.
  await checkIncoming(place, lines.flatMap(tipOf), { scope: 'new' }, limits);
  const commands = await Promise.all(
    lines.map(async (command) => ({ ...command, forced: await pushed.isForced(command) })),
  );
  const verdict = await request.authorizePush(commands, pushed);
  const heads = commands.map(({ ref }) => ref).filter((ref) => ref.startsWith('refs/heads/'));
  return { verdict, branches: heads.map((ref) => ref.slice('refs/heads/'.length)) };
}

function tipOf({ ref, new: oid }: Pick<PushCommand, 'ref' | 'new'>): Tip[] {
  return oid === null ? [] : [{ name: ref.replace(/^refs\/(heads|tags)\//, ''), oid }];
}

/** The client's terminal shows what we say. */
function printable(message: string): string {
  return message.replace(/[^\P{Cc}\n]/gu, '?');
}

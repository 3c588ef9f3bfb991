import { randomUUID } from 'node:crypto';
import { rm, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Oid } from '../../../ports/git-records.ts';
import { tally } from '../../../ports/tally.ts';
import { syncDirectories } from '../durable-files.ts';
import type { GitChild } from '../git-child.ts';
import type { GitProcesses, Log } from '../git-process.ts';
import { identityOf } from '../layout.ts';
import { formatOf, isOid, zeroOid } from '../objects/object-id.ts';
import type { Holder } from '../standing.ts';

export interface RefUpdate {
  /** Full name. */
  ref: string;
  /** null deletes the ref. */
  to: Oid | null;
  /** What the ref must hold at that moment; null: it must not exist; absent: anything. */
  from?: Oid | null;
}

/** A ref that must hold something at that moment (null: not exist) and stays as it is. */
export interface RefCheck {
  ref: string;
  holds: Oid | null;
}

/** git refused the transaction: no ref of it was moved. Its message is for the log and for classifying the reason. */
export class RefsRejected extends Error {}

const idleTime = 30_000;
/** A busy process is replaced at this age, long before its processor time is used up; milliseconds. */
const oldAge = 600_000;
/** A lock this old, or as far ahead of a clock that was set back, was left by a process that died; nothing here holds one for longer than a transaction. Milliseconds. */
const staleLock = 600_000;

/** Directories of refs that a repository has from its first moment and git never removes. */
const lasting = new Set(['refs', 'refs/heads', 'refs/tags']);

/**
 * The directories that hold the names of refs which were moved. git syncs the files but not these, and makes and removes those below `refs/heads` and
 * its like. Deletions also rewrite `packed-refs`.
 */
export function directoriesOf(gitDir: string, moves: readonly { ref: string; to: Oid | null }[]): Set<string> {
  const directories = new Set<string>();
  for (const { ref, to } of moves) {
    if (to === null) directories.add(gitDir);
    let at = ref;
    do {
      at = dirname(at);
      if (directories.has(join(gitDir, at))) break;
      directories.add(join(gitDir, at));
    } while (!lasting.has(at));
  }
  return directories;
}

/** One `git update-ref --stdin` that takes transaction after transaction; the first refused one ends it, and the next starts anew. */
export class RefUpdater implements Holder {
  readonly #processes: GitProcesses;
  readonly #gitDir: string;
  readonly #log: Log;
  readonly #onMoved: (refs: readonly string[]) => void;
  #child: GitChild | null = null;
  /** Of the repository that the process was started for. */
  #identity: string | null = null;
  #began = 0;
  #open = 0;
  #last: Promise<unknown> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;

  /** @param onMoved called for every ref that was moved, once that is durable */
  constructor(
    processes: GitProcesses,
    gitDir: string,
    log: Log,
    onMoved: (refs: readonly string[]) => void = () => {},
  ) {
    this.#processes = processes;
    this.#gitDir = gitDir;
    this.#log = log;
    this.#onMoved = onMoved;
  }

  /** True when no process is running. */
  get asleep(): boolean {
    return this.#child === null;
  }

  /**
   * Moves all refs or none, and returns when that is durable.
   *
   * @throws RefsRejected when a ref does not hold what it should, is locked for long, or its name clashes with another's
   */
  async commit(updates: readonly (RefUpdate | RefCheck)[]): Promise<void> {
    this.#open += 1;
    const turn = this.#last
      .then(() => this.#attempt(updates))
      .finally(() => {
        this.#open -= 1;
      });
    this.#last = turn.catch(() => {});
    await turn;
    const moved = updates.filter((update): update is RefUpdate => !('holds' in update));
    await syncDirectories(directoriesOf(this.#gitDir, moved));
    this.#onMoved(moved.map(({ ref }) => ref));
  }

  get resting(): boolean {
    return this.#open === 0;
  }

  sleep(): void {
    void this.close();
  }

  async close(): Promise<void> {
    await this.#last;
    clearTimeout(this.#idle);
    const child = this.#child;
    this.#retire();
    await child?.exited;
  }

  async #attempt(updates: readonly (RefUpdate | RefCheck)[]): Promise<void> {
    try {
      await this.#transact(updates);
    } catch (error) {
      if (!(error instanceof RefsRejected) || !(await this.#removedStaleLock(error.message))) throw error;
      await this.#transact(updates);
    }
  }

  async #transact(updates: readonly (RefUpdate | RefCheck)[]): Promise<void> {
    clearTimeout(this.#idle);
    tally.gitRequest.publish('update-ref');
    const child = this.#running();
    const done = new Promise<boolean>((resolve) => {
      let said = '';
      const listen = (chunk: Buffer) => {
        said += chunk.toString('latin1');
        if (said.includes('commit: ok\n')) finish(true);
      };
      const finish = (success: boolean) => {
        child.streams.stdout.off('data', listen);
        resolve(success);
      };
      child.streams.stdout.on('data', listen);
      void child.exited.then(() => finish(false));
    });
    child.streams.stdin.write(`start\n${updates.map(command).join('')}prepare\ncommit\n`);
    if (await done) {
      if (performance.now() - this.#began > oldAge) this.#retire();
      this.#idle = setTimeout(() => void this.close(), idleTime).unref();
      return;
    }
    this.#child = null;
    const { stderr, code } = await child.exited;
    throw new RefsRejected(stderr || `update-ref ended with ${code}`, { cause: await this.#whyUnwritten(stderr) });
  }

  #retire(): void {
    this.#child?.streams.stdin.end();
    this.#child = null;
  }

  #running(): GitChild {
    const identity = identityOf(this.#gitDir);
    if (this.#child !== null && this.#identity === identity) return this.#child;
    this.#retire();
    this.#identity = identity;
    this.#processes.standing.wake(this);
    const child = this.#processes.spawn(['update-ref', '--stdin'], { gitDir: this.#gitDir });
    this.#began = performance.now();
    void child.exited.then(() => {
      if (this.#child === child) this.#child = null;
      if (this.asleep) this.#processes.standing.slept(this);
    });
    this.#child = child;
    return child;
  }

  /**
   * git leaves out why it could not write a lock; the same file system says it of another file.
   * @returns the error of a full disk, for instance; undefined when git's message is about something else, or there is space again
   */
  async #whyUnwritten(words: string): Promise<unknown> {
    if (!/couldn't write '.+\.lock'/.test(words)) return undefined;
    // Left behind by a crash, `git prune` removes it.
    const file = join(this.#gitDir, 'objects', `tmp_obj_${randomUUID()}`);
    try {
      await writeFile(file, `${'0'.repeat(64)}\n`, { flag: 'wx', flush: true });
      return undefined;
    } catch (error) {
      return error;
    } finally {
      await rm(file, { force: true });
    }
  }

  async #removedStaleLock(words: string): Promise<boolean> {
    const lock = /Unable to create '(.+\.lock)': File exists/.exec(words)?.[1];
    if (lock === undefined || !lock.startsWith(`${this.#gitDir}/`)) return false;
    const seen = await stat(lock).catch(() => null);
    if (seen === null || Math.abs(Date.now() - seen.mtimeMs) < staleLock) return false;
    this.#log.warn({ lock }, 'removed a ref lock that a dead process left behind');
    await unlink(lock).catch(() => {});
    return true;
  }
}

/** A line of update-ref's input; names and oids are checked here once more, since a newline would be a command of its own. */
function command(update: RefUpdate | RefCheck): string {
  const { ref } = update;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these would break the line
  if (!/^refs\/[^\u0000-\u0020\u007f]+$/.test(ref)) throw new RefsRejected(`not a ref name: ${JSON.stringify(ref)}`);
  const oids = 'holds' in update ? [update.holds] : [update.to, update.from];
  for (const oid of oids)
    if (oid != null && !isOid(oid)) throw new RefsRejected(`not an object id: ${JSON.stringify(oid)}`);
  // Without an id `verify` means that the ref must not exist.
  if ('holds' in update) return `verify ${ref}${update.holds === null ? '' : ` ${update.holds}`}\n`;
  const { to, from } = update;
  if (to === null) return `delete ${ref}${from == null ? '' : ` ${from}`}\n`;
  return `update ${ref} ${to}${from === undefined ? '' : ` ${from ?? zeroOid(formatOf(to))}`}\n`;
}

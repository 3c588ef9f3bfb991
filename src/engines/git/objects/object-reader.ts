import { DomainError } from '../../../kernel/errors.ts';
import { currentCaller } from '../../../lib/concurrency.ts';
import type { Oid } from '../../../ports/git-records.ts';
import type { GitProcesses } from '../git-process.ts';
import type { Holder } from '../standing.ts';
import { CatFile, ProcessGone, type StoredObject } from './cat-file.ts';

/** A process idle for so many milliseconds is closed. */
const idleTime = 30_000;
/** A busy one is replaced at this age: it would keep deleted packs open for ever; milliseconds. */
const oldAge = 600_000;
/** Questions a bulk reader has open at once. */
const window = 256;
const attempts = 3;

/** Reads objects of one repository: one shared process for single questions, others lent to bulk reads. */
export class ObjectReader implements Holder {
  readonly #processes: GitProcesses;
  readonly #gitDir: string;
  #shared: CatFile | null = null;
  readonly #spare: CatFile[] = [];
  readonly #all = new Set<CatFile>();
  readonly #idle: NodeJS.Timeout;
  #lent = 0;

  constructor(processes: GitProcesses, gitDir: string) {
    this.#processes = processes;
    this.#gitDir = gitDir;
    this.#idle = setTimeout(() => this.#onIdle(), idleTime);
    this.#idle.unref();
  }

  /** True when no process is running. */
  get asleep(): boolean {
    return this.#all.size === 0;
  }

  get resting(): boolean {
    return [...this.#all].every((process) => process.open === 0) && this.#lent === 0;
  }

  sleep(): void {
    this.#shared = null;
    this.#spare.length = 0;
    for (const process of this.#all) void process.close();
  }

  /** An object with its content; null when it is not stored. */
  read(oid: Oid): Promise<StoredObject | null> {
    return this.#ask(oid, true);
  }

  /** Type and size of an object; null when it is not stored. */
  info(oid: Oid): Promise<StoredObject | null> {
    return this.#ask(oid, false);
  }

  /** Objects in the order requested, at most a window of them in memory; a slow consumer makes git wait. */
  async *stream(oids: readonly Oid[]): AsyncGenerator<{ oid: Oid; object: StoredObject | null }> {
    let next = 0;
    for (let failures = 0; next < oids.length; failures += 1) {
      const release = await this.#processes.bulkReads.take(currentCaller());
      let process: CatFile | null = null;
      try {
        process = this.#lend();
        for await (const object of this.#pump(process, oids, next)) {
          yield { oid: oids[next] ?? '', object };
          next += 1;
          failures = 0;
        }
      } catch (error) {
        if (!(error instanceof ProcessGone) || failures >= attempts) throw unavailable(error);
      } finally {
        if (process !== null) this.#takeBack(process);
        release();
      }
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const processes = [...this.#all];
    this.sleep();
    await Promise.all(processes.map((process) => process.exited));
  }

  async *#pump(process: CatFile, oids: readonly Oid[], from: number): AsyncGenerator<StoredObject | null> {
    const open: Promise<StoredObject | null>[] = [];
    let sent = from;
    for (let at = from; at < oids.length; at += 1) {
      // Refilled by half windows, so that git gets work in blocks and one flush each.
      if (open.length <= window / 2) {
        for (const oid of oids.slice(sent, sent + window - open.length)) {
          const answer = process.ask(oid, true, true);
          answer.catch(() => {});
          open.push(answer);
          sent += 1;
        }
      }
      const object = (await open.shift()) ?? null;
      process.consumed(object?.content?.length ?? 0);
      yield object;
    }
  }

  async #ask(oid: Oid, withContent: boolean): Promise<StoredObject | null> {
    for (let failures = 0; ; ) {
      try {
        return await this.#sharedProcess().ask(oid, withContent);
      } catch (error) {
        if (!(error instanceof ProcessGone)) throw error;
        if (!error.ofAnother) failures += 1;
        if (failures === attempts) throw unavailable(error);
      }
    }
  }

  #sharedProcess(): CatFile {
    this.#idle.refresh();
    const current = this.#shared;
    if (current !== null && !current.gone && performance.now() - current.started < oldAge) return current;
    // An old one still answers its open requests and then ends with its input.
    if (current !== null && !current.gone) current.retire();
    this.#shared = this.#start();
    return this.#shared;
  }

  #start(): CatFile {
    this.#processes.standing.wake(this);
    const process = new CatFile(this.#processes, this.#gitDir);
    this.#all.add(process);
    void process.exited.then(() => {
      this.#all.delete(process);
      if (this.asleep) this.#processes.standing.slept(this);
    });
    return process;
  }

  #lend(): CatFile {
    this.#idle.refresh();
    let process = this.#spare.pop();
    while (process?.gone) process = this.#spare.pop();
    process ??= this.#start();
    this.#lent += 1;
    return process;
  }

  /** One spare process is kept; one with answers still under way is not worth waiting for. */
  #takeBack(process: CatFile): void {
    this.#idle.refresh();
    this.#lent -= 1;
    const worn = process.open > 0 || this.#spare.length > 0 || performance.now() - process.started > oldAge;
    if (worn) void process.close();
    else if (!process.gone) this.#spare.push(process);
  }

  #onIdle(): void {
    if (this.resting) this.sleep();
    else this.#idle.refresh();
  }
}

function unavailable(error: unknown): Error {
  if (!(error instanceof ProcessGone)) return error as Error;
  return new DomainError('repository_unavailable', 'The repository could not be read', { cause: error });
}

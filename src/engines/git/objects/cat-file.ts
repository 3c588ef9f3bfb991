import type { Oid } from '../../../ports/git-records.ts';
import { tally } from '../../../ports/tally.ts';
import type { GitChild, SpawnOptions } from '../git-child.ts';
import type { GitProcesses } from '../git-process.ts';
import { isOid, type ObjectType } from './object-id.ts';

export interface StoredObject {
  oid: Oid;
  type: ObjectType;
  size: number;
  /** null when only its header was requested, or when it is larger than anything this service reads. */
  content: Buffer | null;
}

/** The process ended with this request open; another one may answer it. */
export class ProcessGone extends Error {
  /** It died of another question, so that nothing is known of this one. */
  readonly ofAnother: boolean;

  constructor(ofAnother = false) {
    super();
    this.ofAnother = ofAnother;
  }
}

/** git's own end at an object it cannot read (`die` of usage.c). */
const dieCode = 128;

interface Question {
  counted: boolean;
  withContent: boolean;
  resolve(answer: StoredObject | null): void;
  reject(error: Error): void;
}

const newline = 0x0a;
/** Content above this is passed over and never held in memory; bytes. */
const largestContent = 100 * 1024 * 1024;
/** A bulk reader that is this far ahead of its consumer stops reading the pipe; bytes. */
const highWater = 16 * 1024 * 1024;
/** A process without output for so many milliseconds while a request is open is discarded. */
const silence = 30_000;

/**
 * One `git cat-file --batch-command --buffer`. Requests made in one iteration of the event loop are sent with one flush; answers are parsed from the
 * stream as it comes: a header line `<oid> <type> <size>`, then for contents the bytes and a newline.
 */
export class CatFile {
  readonly #child: GitChild;
  /** Open questions, oldest first; answered ones are dropped in blocks, since shift() on a long array is slow. */
  #questions: Question[] = [];
  #answered = 0;
  #unsent = '';
  #header = '';
  #object: StoredObject | null = null;
  #body: Buffer | null = null;
  #missing = 0;
  #waiting = 0;
  #watchdog: NodeJS.Timeout;
  #gone = false;
  readonly started = performance.now();

  constructor(processes: GitProcesses, gitDir: string, options: Pick<SpawnOptions, 'env' | 'signal'> = {}) {
    this.#child = processes.spawn(['cat-file', '--batch-command', '--buffer'], { gitDir, ...options });
    this.#child.streams.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#watchdog = setTimeout(() => this.#onSilence(), silence);
    this.#watchdog.unref();
    this.#child.exited.then(({ code, ended, over }) => this.#onExit(code === dieCode && ended === null, over));
  }

  get open(): number {
    return this.#questions.length - this.#answered;
  }

  get gone(): boolean {
    return this.#gone;
  }

  /**
   * Reads one object; null when it is not stored.
   *
   * @param counted the content waits for a consumer: call `consumed` when it was taken
   */
  ask(oid: Oid, withContent: boolean, counted = false): Promise<StoredObject | null> {
    if (!isOid(oid)) return Promise.resolve(null);
    if (this.#gone) return Promise.reject(new ProcessGone());
    tally.gitRequest.publish('cat-file');
    return new Promise((resolve, reject) => {
      if (this.open === 0) this.#watchdog.refresh();
      this.#questions.push({ withContent, counted, resolve, reject });
      if (this.#unsent === '') queueMicrotask(() => this.#send());
      this.#unsent += `${withContent ? 'contents' : 'info'} ${oid}\n`;
    });
  }

  consumed(bytes: number): void {
    this.#waiting -= bytes;
    if (this.#waiting <= highWater && this.#child.streams.stdout.isPaused()) this.#child.streams.stdout.resume();
  }

  /** Resolves when the process is gone. */
  get exited(): Promise<unknown> {
    return this.#child.exited;
  }

  /** Takes no more questions; answers the open ones and ends. */
  retire(): void {
    this.#send();
    this.#child.streams.stdin.end();
  }

  /** Ends the process; without open questions it leaves by itself at the end of its input. */
  async close(): Promise<void> {
    if (this.open > 0) this.#child.kill(new ProcessGone());
    else this.#child.streams.stdin.end();
    await this.#child.exited;
  }

  #send(): void {
    if (this.#unsent === '') return;
    this.#child.streams.stdin.write(`${this.#unsent}flush\n`);
    this.#unsent = '';
  }

  #onSilence(): void {
    if (this.open > 0 && !this.#child.streams.stdout.isPaused()) this.#child.kill(new ProcessGone());
    else this.#watchdog.refresh();
  }

  /**
   * @param died by itself: git answers in order and gives out all it has, so it died of the first open question
   * @param over the bound at which it died
   */
  #onExit(died: boolean, over: Error | null): void {
    this.#gone = true;
    clearTimeout(this.#watchdog);
    for (const [at, question] of this.#questions.slice(this.#answered).entries())
      question.reject(at === 0 && over !== null ? over : new ProcessGone(died && at > 0));
    this.#questions = [];
    this.#answered = 0;
  }

  #read(chunk: Buffer): void {
    this.#watchdog.refresh();
    let at = 0;
    while (at < chunk.length)
      at = this.#object === null ? this.#readHeader(chunk, at) : this.#readBody(chunk, at, this.#object);
    const { stdout, exitCode, signalCode } = this.#child.streams;
    // A process that has ended counts as gone when its output has been read to the end, whether or not it is needed.
    if (this.#waiting > highWater && exitCode === null && signalCode === null) stdout.pause();
  }

  #readHeader(chunk: Buffer, at: number): number {
    const end = chunk.indexOf(newline, at);
    this.#header += chunk.toString('latin1', at, end === -1 ? chunk.length : end);
    if (end === -1) return chunk.length;
    const [oid = '', type, size] = this.#header.split(' ');
    this.#header = '';
    if (size === undefined) {
      this.#answer(null);
      return end + 1;
    }
    const object: StoredObject = { oid, type: type as ObjectType, size: Number(size), content: null };
    if (this.#questions[this.#answered]?.withContent !== true) {
      this.#answer(object);
      return end + 1;
    }
    this.#object = object;
    this.#body = object.size <= largestContent ? Buffer.allocUnsafe(object.size) : null;
    this.#missing = object.size + 1;
    return end + 1;
  }

  /** Copies what the chunk has of the body; the newline behind it is dropped by the copy's bounds. */
  #readBody(chunk: Buffer, at: number, object: StoredObject): number {
    const taken = Math.min(this.#missing, chunk.length - at);
    if (this.#body !== null) chunk.copy(this.#body, object.size + 1 - this.#missing, at, at + taken);
    this.#missing -= taken;
    if (this.#missing === 0) {
      object.content = this.#body;
      this.#object = null;
      this.#body = null;
      this.#answer(object);
    }
    return at + taken;
  }

  #answer(object: StoredObject | null): void {
    const question = this.#questions[this.#answered];
    this.#answered += 1;
    if (this.#answered === this.#questions.length || this.#answered === 4096) {
      this.#questions = this.#questions.slice(this.#answered);
      this.#answered = 0;
    }
    if (question?.counted) this.#waiting += object?.content?.length ?? 0;
    question?.resolve(object);
  }
}

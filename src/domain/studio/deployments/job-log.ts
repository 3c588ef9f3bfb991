import { StringDecoder } from 'node:string_decoder';
import { setTimeout } from 'node:timers/promises';
import { Pace } from '../../../lib/concurrency.ts';
import type { StudioServices } from '../studio.ts';

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
/** Control sequences (ECMA-48 5.4), operating system commands and the other strings a terminal takes (5.6), two-character escapes. */
const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|[ -/]*[0-~])/g;
const controls = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above

/** A line as plain text: without what only a terminal understands. Of a line written over by carriage returns the last state stays. */
export function cleanLine(line: string): string {
  const plain = line.replace(escapes, '').replace(/(?<!\r)\r+$/, '');
  return plain.slice(plain.lastIndexOf('\r') + 1).replace(controls, '');
}

/** Takes the values of secrets out of a text. */
export interface Mask {
  (text: string): string;
  /** How long what it takes out is at most, UTF-16 units; undefined: it takes out nothing. */
  readonly longest?: number;
}

/**
 * Of a line that does not end so much waits for what comes, or the longest secret, so that none is written in two halves; UTF-16 units. Such a line
 * is written in pieces once it is twice as long.
 */
const heldBack = { least: 8 * 1024, most: 128 * 1024 };

/** Splits the output of a command into clean, masked lines. */
export class LineReader {
  readonly #decoder = new StringDecoder('utf8');
  readonly #mask: Mask;
  readonly #heldBack: number;
  #rest = '';

  constructor(mask: Mask) {
    this.#mask = mask;
    this.#heldBack = Math.min(Math.max(heldBack.least, mask.longest ?? 0), heldBack.most);
  }

  /** @returns the lines a chunk completes, each with its line end; '' when it completes none */
  read(chunk: Buffer): string {
    const text = this.#decoder.write(chunk);
    const end = text.lastIndexOf('\n') + 1;
    const lines = end === 0 ? '' : this.#rest + text.slice(0, end);
    this.#rest = end === 0 ? this.#rest + text : text.slice(end);
    if (this.#rest.length <= 2 * this.#heldBack) return this.#shown(lines);
    const masked = this.#mask(this.#rest);
    const cut = Math.max(masked.length - this.#heldBack, 0);
    this.#rest = masked.slice(cut);
    return this.#shown(cut === 0 ? lines : `${lines}${masked.slice(0, cut)}\n`);
  }

  /** What is left when nothing comes any more, as a line. */
  end(): string {
    const rest = this.#rest + this.#decoder.end();
    this.#rest = '';
    return rest === '' ? '' : this.#shown(`${rest}\n`);
  }

  #shown(lines: string): string {
    if (lines === '') return '';
    const clean = lines.slice(0, -1).split('\n').map(cleanLine).join('\n');
    return `${this.#mask(clean)}\n`;
  }
}

/** Bytes kept of the beginning and the end of a log, of one stored piece, and written but not yet stored before the writer waits. */
const headBytes = 1024 * 1024;
const tailBytes = 3 * 1024 * 1024;
const pieceBytes = 64 * 1024;
const mostWaiting = 1024 * 1024;
/** At most five writes a second. */
const writeEvery = 200;

interface Piece {
  start: number;
  content: Buffer;
}

/** Cuts text into pieces that end at whole characters: no byte of one begins with the bits 10 (RFC 3629 3). */
function piecesOf(content: Buffer, start: number): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at < content.length; ) {
    let end = Math.min(at + pieceBytes, content.length);
    while (end < content.length && ((content[end] ?? 0) & 0xc0) === 0x80) end--;
    pieces.push({ start: start + at, content: content.subarray(at, end) });
    at = end;
  }
  return pieces;
}

/** The log of one job: subscribers in this process get every line at once, the database in pieces. */
export class JobLog {
  readonly #services: Pick<StudioServices, 'orm' | 'studio' | 'log'>;
  readonly #of: { deployment: number; job: number };
  readonly #mask: Mask;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #size = 0;
  #storing: Promise<void> | null = null;
  readonly #closing = new AbortController();

  constructor(
    services: Pick<StudioServices, 'orm' | 'studio' | 'log'>,
    of: { deployment: number; job: number },
    secrets: Mask,
  ) {
    this.#services = services;
    this.#of = of;
    this.#mask = secrets;
  }

  /** Adds a line of our own. */
  line(text: string): void {
    this.#add(`${this.#mask(text)}\n`);
  }

  /** Takes what a command writes. `read` gives a promise when the command should wait for the database, or for what else the server does. */
  reader(): { read(chunk: Buffer): Promise<void> | undefined; end(): void } {
    const reader = new LineReader(this.#mask);
    const pace = new Pace();
    return {
      // Of a pipe up to 2 MiB come in one iteration of the event loop.
      read: (chunk) => this.#add(reader.read(chunk)) ?? (pace.isDue ? pace.yield() : undefined),
      end: () => void this.#add(reader.end()),
    };
  }

  /** Resolves when everything is stored; nothing comes after it. */
  async close(): Promise<void> {
    this.#closing.abort();
    while (this.#storing) await this.#storing;
  }

  #add(text: string): Promise<void> | undefined {
    if (text === '') return;
    const content = Buffer.from(text);
    const offset = this.#size + this.#waitingBytes;
    this.#services.studio.feed.say({ ...this.#of, offset, text });
    this.#waiting.push(content);
    this.#waitingBytes += content.length;
    this.#storing ??= this.#store();
    return this.#waitingBytes > mostWaiting ? this.#storing : undefined;
  }

  /** Stores what waits, then waits so long that no more than five writes a second are made. */
  async #store(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const content = Buffer.concat(this.#waiting);
        const start = this.#size;
        this.#waiting = [];
        this.#waitingBytes = 0;
        this.#size += content.length;
        await this.#write(piecesOf(content, start));
        await setTimeout(writeEvery, null, { signal: this.#closing.signal }).catch(() => {});
      }
    } catch (err) {
      // A log with a hole is better than a deployment that fails for its log.
      this.#services.log.warn({ err, ...this.#of }, 'a piece of a deployment log was not stored');
    } finally {
      this.#storing = null;
    }
  }

  async #write(pieces: readonly Piece[]): Promise<void> {
    const em = this.#services.orm.em.fork();
    const rows = pieces.map(() => '(?::bigint, ?::integer, ?::bytea)').join(', ');
    // Of an attempt that was given up the job is gone, and nothing is written.
    await em.execute(
      `with job as (update deployment_job set log_size = ? where id = ? returning id)
       insert into deployment_log (job_id, start, size, content)
       select job.id, piece.start, piece.size, piece.content from job, (values ${rows}) as piece(start, size, content)`,
      [this.#size, this.#of.job, ...pieces.flatMap(({ start, content }) => [start, content.length, content])],
    );
    if (this.#size <= headBytes + tailBytes) return;
    await em.execute('delete from deployment_log where job_id = ? and start >= ? and start + size <= ?', [
      this.#of.job,
      headBytes,
      this.#size - tailBytes,
    ]);
  }
}

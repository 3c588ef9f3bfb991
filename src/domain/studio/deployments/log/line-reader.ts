import { StringDecoder } from 'node:string_decoder';
import { cleanLine } from './clean-text.ts';

/** A line longer than this is written in pieces; UTF-16 units. */
const longestLine = 16 * 1024;
/** Of such a line so much waits for what comes, so that no secret is written in two halves; UTF-16 units. */
const heldBack = 8 * 1024;

/** Turns what a command writes into clean, masked lines. */
export class LineReader {
  readonly #decoder = new StringDecoder('utf8');
  readonly #mask: (text: string) => string;
  #rest = '';

  constructor(mask: (text: string) => string) {
    this.#mask = mask;
  }

  /** @returns the lines a chunk completes, each with its line end; '' when it completes none */
  read(chunk: Buffer): string {
    const text = this.#rest + this.#decoder.write(chunk);
    const end = text.lastIndexOf('\n') + 1;
    this.#rest = text.slice(end);
    const lines = text.slice(0, end);
    if (this.#rest.length <= longestLine) return this.#shown(lines);
    const masked = this.#mask(this.#rest);
    this.#rest = masked.slice(-heldBack);
    return this.#shown(`${lines}${masked.slice(0, -heldBack)}\n`);
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

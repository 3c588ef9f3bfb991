/** A count with its noun: `1 branch`, `2 branches`. */
export const plural = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A size as people read it: `512 bytes`, `1.5 MiB`. */
export function bytesText(bytes: number): string {
  let [size, unit] = [bytes, 0];
  for (; size >= 1024 && unit < units.length - 1; unit += 1) size /= 1024;
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}

/** `12 refs, 3 pull rows`: refs, then the tables that have rows. */
export function countsText({ refs = 0, ...rows }: Record<string, number>): string {
  const tables = Object.entries(rows).filter(([, count]) => count > 0);
  return [plural(refs, 'ref'), ...tables.map(([name, count]) => plural(count, `${name} row`))].join(', ');
}

/** A stream of a terminal, pipe or file. */
interface Sink {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

const redrawEvery = 100;
const plainEvery = 5_000;
const eraseLine = '\r\u001b[2K';

/** Where a command writes: results on standard output, notes and errors on standard error. */
export class Screen {
  readonly #out: Sink;
  readonly #err: Sink;
  #live = '';
  #shownAt = 0;
  #shownHead = '';
  /** The last progress that came too soon after another to be written. */
  #held = '';

  constructor(out: Sink, err: Sink) {
    this.#out = out;
    this.#err = err;
  }

  /** A line of the result. */
  print(line = ''): void {
    this.#clear();
    this.#out.write(`${line}\n`);
  }

  /** A line beside the result, which a script that reads the result does not see. */
  note(line: string): void {
    this.#clear();
    this.#err.write(`${line}\n`);
  }

  /**
   * How far a long command is. On a terminal one line is written over and over; elsewhere a plain line at each new `head` and every five
   * seconds.
   */
  progress(head: string, tail = ''): void {
    const now = performance.now();
    const text = tail === '' ? head : `${head}: ${tail}`;
    const isNew = head !== this.#shownHead;
    if (!isNew && now - this.#shownAt < (this.#err.isTTY ? redrawEvery : plainEvery)) {
      this.#held = text;
      return;
    }
    this.#shownAt = now;
    this.#shownHead = head;
    if (!this.#err.isTTY) {
      if (isNew) this.#flush();
      this.#held = '';
      return void this.#out.write(`${text}\n`);
    }
    this.#live = text.slice(0, (this.#err.columns ?? 80) - 1);
    this.#err.write(`${eraseLine}${this.#live}`);
  }

  /** Erases the live line, so that what follows begins at the margin; a plain line is ended. */
  #clear(): void {
    if (this.#live !== '') this.#err.write(eraseLine);
    this.#live = '';
    if (!this.#err.isTTY) this.#flush();
  }

  #flush(): void {
    if (this.#held !== '') this.#out.write(`${this.#held}\n`);
    this.#held = '';
  }
}

/** Rows as columns of equal width, two spaces apart. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

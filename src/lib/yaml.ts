import { Composer, type CST, type Document, YAMLParseError } from 'yaml';

/** How a text is read, beside what holds for all. */
interface Reading {
  /** Default: that of YAML 1.2. */
  schema?: 'core';
  /** For editing. */
  keepSourceTokens?: boolean;
}

/**
 * The one document of a text of YAML 1.2, with its faults in `errors`, also that there is another one. Keys are not compared, nor those of `!!omap`:
 * the library compares each with every other. A hostile text has a fault at nearly every character, and stack traces, which nothing reads, would take thirty
 * times as long as the rest.
 * @param tokens of the parser
 * @param length of the text
 */
export function composeDocument(tokens: Iterable<CST.Token>, length: number, reading: Reading = {}): Document.Parsed {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const composer = new Composer({
      version: '1.2',
      ...reading,
      uniqueKeys: false,
      resolveKnownTags: false,
      prettyErrors: false,
    });
    const [document, another] = composer.compose(tokens, true, length);
    if (!document) throw new Error('a text without a document');
    if (another) {
      const [start, end] = another.range;
      document.errors.push(new YAMLParseError([start, end], 'MULTIPLE_DOCS', 'holds more than one document'));
    }
    return document;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Every value that an alias repeats counts as so many characters beside its text. */
const valueWeight = 8;

/**
 * The anchors of one text. An alias is a few characters, and what it stands for is copied, kept and sent as if it stood there again: aliases are weighed
 * by all that they repeat, in characters.
 */
export class Anchors<T> {
  readonly #known = new Map<string, { made: T; weight: number }>();
  readonly #most: number;
  #weight = 0;
  #repeated = 0;

  /** @param most characters that the aliases may repeat together */
  constructor(most: number) {
    this.#most = most;
  }

  /** Weight of all that has been read until now, with what was repeated. */
  get weight(): number {
    return this.#weight;
  }

  /** Whether the aliases repeat more than they may. */
  get isExceeded(): boolean {
    return this.#repeated > this.#most;
  }

  /** Counts a key, a container, or a value with its text. */
  count(text: unknown = null): void {
    this.#weight += valueWeight + (typeof text === 'string' ? text.length : 0);
  }

  /** @param before weight when the reading of what it names began */
  set(name: string, made: T, before: number): void {
    this.#known.set(name, { made, weight: this.#weight - before });
  }

  /** What an alias stands for, which counts from then on; undefined without an anchor before it. */
  repeat(name: string): T | undefined {
    const known = this.#known.get(name);
    this.#weight += known?.weight ?? 0;
    this.#repeated += known?.weight ?? 0;
    return known?.made;
  }
}

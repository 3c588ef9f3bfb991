import { DomainError } from '../../kernel/errors.ts';

/** Limits of one request, counted on the document as written, before anything runs. */
export const limits = {
  /** Long texts belong into variables. */
  characters: 1_048_576,
  lines: 10_000,
  /** Brackets of all kinds: fields, arguments and the levels of a literal. */
  nesting: 120,
  tokens: 2_000,
  depth: 12,
  aliases: 30,
  directives: 25,
  root_fields: 20,
  commands: 10,
  cost: 5_000,
  /** Values of the schema itself, estimated: about twice what tools ask for. */
  schema: 200_000,
  /** The library's own bound, for documents that select one field very often. */
  comparisons: 500_000,
} as const;

/** Faults of a document that validation looks for. */
export const maxErrors = 25;

export type Limit = keyof typeof limits;

const nouns: Record<Limit, string> = {
  characters: 'characters',
  lines: 'lines',
  nesting: 'levels of brackets',
  tokens: 'tokens',
  depth: 'levels of fields',
  aliases: 'aliases',
  directives: 'directives',
  root_fields: 'root fields',
  commands: 'commands',
  cost: 'points of cost',
  schema: 'values of the schema',
  comparisons: 'comparisons of fields of the same name; select each field once, or under another alias',
};

/** A document above a limit. */
export class LimitError extends Error {
  override name = 'LimitError';
  readonly details: { limit: Limit; maximum: number; actual?: number };

  constructor(limit: Limit, counted?: number) {
    const maximum = limits[limit];
    // Fragments of fragments multiply: beyond this the exact number has no use.
    const actual = counted !== undefined && counted <= 1_000_000 ? counted : undefined;
    const noun = nouns[limit];
    super(
      actual === undefined
        ? `The document has more than ${maximum} ${noun}`
        : `The document has ${actual} ${noun}; at most ${maximum} are allowed`,
    );
    this.details = { limit, maximum, ...(actual !== undefined && { actual }) };
  }
}

/** @throws LimitError when the count is above the limit. */
export function check(limit: Limit, count: number): void {
  if (count > limits[limit]) throw new LimitError(limit, count);
}

/** Bytes of the files in one answer: each alias of a short document can be another one. */
const mostText = 32 * 1024 * 1024;
/** Bytes of an answer: as JSON, and with all else that it shows, the files may be twice as long. */
const longest = 2 * mostText;

/** Where an answer takes its room in memory: that of a request, or one event of a stream. */
interface AnswerRoom {
  /** Takes room for what is to be read. */
  take(bytes: number): Promise<void>;
  /** Counts what is being written. */
  count(bytes: number): void;
}

/** What one answer may hold. */
export interface AnswerBounds {
  /** Waits for memory for content that is to be read. @throws DomainError `too_large` when the answer holds too much of it */
  room(bytes: number): Promise<void>;
  /** Sees how long the answer becomes. @throws DomainError `too_large` when it may not be so long */
  watch(bytes: number): void;
}

/** The bounds of one answer, which are the same for a request and for an event: both are read whole, and held until they are sent. */
export function answerBounds({ take, count }: AnswerRoom): AnswerBounds {
  let left = mostText;
  return {
    async room(bytes) {
      left -= bytes;
      if (left < 0)
        throw new DomainError('too_large', `One answer holds at most ${mostText} bytes of files; select fewer of them`);
      await take(bytes);
    },
    watch(bytes) {
      if (bytes > longest)
        throw new DomainError('too_large', `One answer has at most ${longest} bytes; select less, or a shorter page`);
      count(bytes);
    },
  };
}

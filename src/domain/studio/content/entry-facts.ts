import type { DomainError } from '../../../kernel/errors.ts';
import type { BlobKey } from '../../../ports/content-cache.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import { dataFormat } from '../frontmatter/split.ts';
import { summarize } from '../frontmatter/summarize.ts';
import type { Frontmatter, FrontmatterError, ParsedFile } from '../frontmatter/values.ts';
import { hasRelativeLink, hasRelativeValue } from '../media/relative-links.ts';

/** What lists need of a file's content; the same for every path the content stands at. */
export interface EntryFacts {
  /** null when it cannot be read; `error` says why. */
  frontmatter: Frontmatter | null;
  /** Empty when only the slug gives one. */
  title: string;
  draft: boolean;
  size: number;
  /** It has links to other files that a move can change. */
  links?: true;
  error?: FrontmatterError | UnreadableError;
}

/** The file's object is damaged, or too large to be read. */
interface UnreadableError extends Omit<FrontmatterError, 'code'> {
  code: 'unreadable';
}

/** What lists show of a file that cannot be read at all. */
export const unreadable: EntryFacts = {
  frontmatter: null,
  title: '',
  draft: false,
  size: 0,
  error: { code: 'unreadable', message: 'the file is missing or damaged in the repository', line: 1, column: 1 },
};

/** The same of a file that is too large to be read: unlike a damaged one, it does not come back. */
const oversized: EntryFacts = {
  ...unreadable,
  error: {
    code: 'unreadable',
    message: 'the file is larger than 100 MiB; delete it, or push a smaller one',
    line: 1,
    column: 1,
  },
};

/** What lists show of a file that could not be read for some reason. */
export const factsWithout = ({ code }: DomainError): EntryFacts => (code === 'too_large' ? oversized : unreadable);

/** A file as far as its content goes. */
export interface Place {
  path: string;
  oid: string;
}

/**
 * Counts up when a file would be read otherwise than before: other values, another title, other words. What an older reader stored is then
 * not found any more.
 */
export const readerVersion = 5;

const formats = new Map<string, string>();

/** The kind of file a path makes of a blob, by its extension. */
function formatOf(path: string): string {
  const extension = path.slice(Math.max(path.lastIndexOf('.'), path.lastIndexOf('/')) + 1);
  const known = formats.get(extension);
  if (known !== undefined) return known;
  const format = `${dataFormat(extension) ?? 'content'}.${readerVersion}`;
  if (formats.size < 100) formats.set(extension, format);
  return format;
}

/** Names a blob as the kind of file its path makes it. */
export const blobKey = ({ path, oid }: Place): BlobKey => ({ oid, format: formatOf(path) });

/** What lists show of a file that has been read. */
export function factsFrom(parsed: ParsedFile, size: number): EntryFacts {
  return {
    frontmatter: parsed.frontmatter,
    ...summarize(parsed, ''),
    size,
    ...((hasRelativeLink(parsed.body) || hasRelativeValue(parsed.frontmatter)) && { links: true }),
    ...(parsed.error && { error: parsed.error }),
  };
}

/** The same as a copy to be kept: a value cut out of the file's text would keep all of it in memory. */
export const keptFacts = (parsed: ParsedFile, size: number): EntryFacts =>
  JSON.parse(JSON.stringify(factsFrom(parsed, size)));

/** Reads one file for lists. `path` decides whether it is content or data. */
export const factsOf = (content: Buffer, path: string): EntryFacts =>
  keptFacts(parseFile(content, path), content.length);

/** Bytes that values take in memory, roughly. */
function weightOf(value: unknown): number {
  if (typeof value === 'string') return 24 + 2 * value.length;
  if (value === null || typeof value !== 'object') return 16;
  let weight = 64;
  if (Array.isArray(value)) for (const item of value) weight += 16 + weightOf(item);
  else for (const [key, item] of Object.entries(value)) weight += 16 + 2 * key.length + weightOf(item);
  return weight;
}

const weights = new WeakMap<EntryFacts, number>();

/** Bytes that facts take in memory, roughly; found once for the same object. */
export function factsWeight(facts: EntryFacts): number {
  const known = weights.get(facts);
  if (known !== undefined) return known;
  const weight = 400 + 2 * (facts.title.length + (facts.error?.message.length ?? 0)) + weightOf(facts.frontmatter);
  weights.set(facts, weight);
  return weight;
}

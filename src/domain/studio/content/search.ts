import type { SearchWords } from '../../../ports/content-cache.ts';
import type { ParsedFile } from '../frontmatter/values.ts';
import { splitWords, words } from '../frontmatter/words.ts';

/** Reads a query: all words, the last one as a prefix, case and accents folded. One without any word finds nothing. */
export function searchWords(q: string): SearchWords {
  const all = splitWords(q);
  return { whole: all.slice(0, -1), prefix: all.at(-1) ?? null };
}

function* textsOf(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'number') yield String(value);
  else if (value !== null && typeof value === 'object') for (const item of Object.values(value)) yield* textsOf(item);
}

/** The words an entry is found by: those of its metadata, then of its body. */
export function wordsOf({ frontmatter, body }: ParsedFile): string[] {
  return words(`${[...textsOf(frontmatter)].join('\n')}\n${body}`);
}

/** Whether an entry has all wanted words. */
export function containsWords(found: readonly string[], { whole, prefix }: SearchWords): boolean {
  if (prefix === null || !found.some((word) => word.startsWith(prefix))) return false;
  if (whole.length === 0) return true;
  const has = new Set(found);
  return whole.every((word) => has.has(word));
}

import type { ParsedFile } from '../frontmatter/types.ts';
import { foldText, words } from '../frontmatter/words.ts';

/** What a search asks for: whole words, and the beginning of one more. */
export interface SearchWords {
  whole: readonly string[];
  prefix: string | null;
}

/** Reads a query: all words, the last one as a prefix, case and accents folded. */
export function searchWords(q: string): SearchWords {
  const all = foldText(q).match(/[\p{L}\p{N}]+/gu) ?? [];
  return { whole: all.slice(0, -1), prefix: all.at(-1) ?? null };
}

function* textsOf(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'number') yield String(value);
  else if (value !== null && typeof value === 'object') for (const item of Object.values(value)) yield* textsOf(item);
}

/** Whether an entry's frontmatter and body hold all the words. */
export function matchesWords(parsed: ParsedFile, { whole, prefix }: SearchWords): boolean {
  const text = `${[...textsOf(parsed.frontmatter)].join('\n')}\n${parsed.body}`;
  const has = new Set(words(text));
  if (!whole.every((word) => has.has(word))) return false;
  if (prefix === null) return true;
  for (const word of has) if (word.startsWith(prefix)) return true;
  return false;
}

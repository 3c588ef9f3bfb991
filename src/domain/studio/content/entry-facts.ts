import { parseFile } from '../frontmatter/parse-file.ts';
import { summarize } from '../frontmatter/summarize.ts';
import type { Frontmatter, FrontmatterError } from '../frontmatter/types.ts';

/** What lists need of a file's content; the same for every path the content stands at. */
export interface EntryFacts {
  /** null when it cannot be read; `error` says why. */
  frontmatter: Frontmatter | null;
  /** Empty when only the slug gives one. */
  title: string;
  draft: boolean;
  size: number;
  error?: FrontmatterError;
}

/** Reads one file for lists. `path` decides whether it is content or data. */
export function factsOf(content: Buffer, path: string): EntryFacts {
  const parsed = parseFile(content, path);
  return {
    frontmatter: parsed.frontmatter,
    ...summarize(parsed, ''),
    size: content.length,
    ...(parsed.error && { error: parsed.error }),
  };
}

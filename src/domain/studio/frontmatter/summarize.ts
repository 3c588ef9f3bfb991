import type { ParsedFile } from './values.ts';

export interface Summary {
  title: string;
  draft: boolean;
}

/** What lists show of an entry. The title is the frontmatter's `title` or `name`, else the first heading, else the slug in words. */
export function summarize(parsed: ParsedFile, slug: string): Summary {
  const { frontmatter } = parsed;
  const title = text(frontmatter?.title) ?? text(frontmatter?.name) ?? firstHeading(parsed.body) ?? titleOfSlug(slug);
  return { title, draft: frontmatter?.draft === true || frontmatter?.published === false };
}

function text(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/** The first `# heading` outside fenced code, without its closing `#`s and its `{#id}`. Looks at the first 64 KiB only. */
function firstHeading(body: string): string | undefined {
  let fence: string | undefined;
  for (const line of body.slice(0, 64 * 1024).split(/\r?\n/)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined) {
      if (fence === undefined) fence = mark;
      else if (mark.startsWith(fence)) fence = undefined;
    } else if (fence === undefined) {
      const heading = /^ {0,3}#[ \t](.*)/s.exec(line)?.[1];
      const title = heading
        ?.trim()
        .replace(/\{#[^{}]*\}$/, '')
        .trimEnd()
        .replace(/(?:^|[ \t])#+$/, '')
        .trim();
      if (title) return title;
    }
  }
  return undefined;
}

/** `2024-05-01-hello-world` → `Hello world`; the index of a directory is named after the directory. */
export function titleOfSlug(slug: string): string {
  const segments = slug.split('/').filter((segment) => segment !== '');
  const named = segments.length > 1 && segments.at(-1) === 'index' ? segments.at(-2) : segments.at(-1);
  const words = (named ?? slug)
    .replace(/^\d{4}-\d\d-\d\d-(?=.)/, '')
    .replace(/[-_]+/g, ' ')
    .trim();
  return words === '' ? (named ?? slug) : words.charAt(0).toUpperCase() + words.slice(1);
}

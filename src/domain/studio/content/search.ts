import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { filterYielding, forEachYielding } from '../../../lib/concurrency.ts';
import { VersionCache } from '../../../lib/version-cache.ts';
import type { SearchWords } from '../../../ports/content-cache.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import { dataFormat, splitFile } from '../frontmatter/split.ts';
import type { ParsedFile } from '../frontmatter/values.ts';
import { splitWords, words } from '../frontmatter/words.ts';
import type { IndexedEntry } from './collection-index.ts';
import type { SiteIndex } from './site-index.ts';
import { soundBlobs } from './stored/fact-store.ts';

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

/**
 * What the bodies of a collection hold beside Markdown: shortcodes and components, each with the attributes it is usually given, and the
 * shortcodes the site defines though no body has them yet. Nothing of it is run; what an editor offers while one types.
 */

const kinds = ['shortcode', 'markdown_shortcode', 'component'] as const;

export const snippet = z
  .object({
    kind: z
      .enum(kinds)
      .describe('shortcode: `{{< name >}}`; markdown_shortcode: `{{% name %}}`; component: `<Name />`'),
    name: z.string(),
    attributes: z.array(z.string()).describe('Names of those that at least half of the uses have'),
    is_paired: z.boolean().describe('Most uses have a closing tag'),
    import: z
      .string()
      .nullable()
      .describe('The line of MDX by which the bodies most often import a component; null: they do without'),
    use_count: z.int32().describe('Uses in the entries that were read; 0: it is only defined'),
  })
  .meta({ id: 'Snippet' });
type Snippet = z.infer<typeof snippet>;

const mostEntries = 500;
const mostBytes = 8 * 1024 * 1024;
const mostSnippets = 100;
/** Distinct names that are counted, and attributes of one; later ones are left out. */
const mostNames = 2_000;
const mostAttributes = 50;
/** Distinct lines that import one component. */
const mostLines = 100;

// Each takes a time that grows with the text alone: what may repeat stops where the next match could begin, and a name is matched whole or not
// at all, so that no shorter part of it is tried with all that follows.
const code = /^(?:```|~~~)[^\n]*\n[\s\S]*?^(?:```|~~~)|`[^`\n]*`/gm;
const shortcode = /\{\{([<%])[ \t]{0,9}(?:(\/)[ \t]{0,9})?([\w./-]{1,100})(?![\w./-])([^{}]{0,1000})[>%]\}\}/g;
const component = /<(\/?)([A-Z][\w.]{0,99})(?![\w.])([^<>]{0,1000})>/g;
const importLine = /^import[ \t]+([A-Z]\w{0,99})[ \t]+from[ \t]+(['"])[^'"\n]{1,500}\2;?[ \t]*$/gm;
const values = /"[^"]*"|'[^']*'|`[^`]*`|\{[^{}]*\}/g;
const attribute = /(?:^|\s)([A-Za-z_:@][\w:.-]{0,99})=/g;

interface Uses {
  kind: (typeof kinds)[number];
  name: string;
  opened: number;
  closed: number;
  attributes: Map<string, number>;
}

const increase = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
const most = (counts: ReadonlyMap<string, number> | undefined) =>
  [...(counts ?? [])].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;

/** Counts the uses in bodies of entries. */
class Counts {
  readonly #uses = new Map<string, Uses>();
  readonly #imports = new Map<string, Map<string, number>>();

  add(body: string): void {
    const text = body.replace(code, '');
    for (const [, delimiter, slash, name = '', given = ''] of text.matchAll(shortcode))
      this.#use(delimiter === '<' ? 'shortcode' : 'markdown_shortcode', name, slash === '/', given);
    for (const [, slash, name = '', given = ''] of text.matchAll(component))
      this.#use('component', name, slash === '/', given);
    for (const [line, name = ''] of text.matchAll(importLine)) {
      const lines = this.#imports.get(name) ?? new Map<string, number>();
      const text = line.trimEnd();
      if (lines.size < mostLines || lines.has(text)) increase(lines, text);
      if (this.#imports.size < mostNames) this.#imports.set(name, lines);
    }
  }

  define(name: string): void {
    if (!this.#uses.has(`shortcode ${name}`) && !this.#uses.has(`markdown_shortcode ${name}`))
      this.#of('shortcode', name);
  }

  /** The most used first. */
  snippets(): Snippet[] {
    const all = [...this.#uses.values()].filter(({ opened, closed }) => opened > 0 || closed === 0);
    all.sort((a, b) => b.opened - a.opened || (a.name < b.name ? -1 : 1));
    return all.slice(0, mostSnippets).map(({ kind, name, opened, closed, attributes }) => ({
      kind,
      name,
      attributes: [...attributes].filter(([, count]) => count * 2 >= opened).map(([attribute]) => attribute),
      is_paired: closed * 2 > opened,
      import: kind === 'component' ? most(this.#imports.get(name.split('.')[0] ?? name)) : null,
      use_count: opened,
    }));
  }

  #of(kind: Uses['kind'], name: string): Uses | null {
    const key = `${kind} ${name}`;
    const known = this.#uses.get(key);
    if (known || this.#uses.size >= mostNames) return known ?? null;
    const uses: Uses = { kind, name, opened: 0, closed: 0, attributes: new Map() };
    this.#uses.set(key, uses);
    return uses;
  }

  #use(kind: Uses['kind'], name: string, isEnd: boolean, given: string): void {
    const uses = this.#of(kind, name);
    if (!uses) return;
    if (isEnd) uses.closed += 1;
    else {
      uses.opened += 1;
      const names = new Set([...given.replace(values, '').matchAll(attribute)].map(([, found = '']) => found));
      for (const found of names)
        if (uses.attributes.size < mostAttributes || uses.attributes.has(found)) increase(uses.attributes, found);
    }
  }
}

/** Where Hugo looks for shortcodes, with those of themes; the name is the path below. */
const definition = /(?:^|\/)layouts\/_?shortcodes\/([\w./-]{1,100})\.html$/;

async function readSnippets(head: Snapshot, entries: readonly IndexedEntry[]): Promise<Snippet[]> {
  const counts = new Counts();
  // Evenly over all: neighbours are often alike.
  const step = Math.max(1, entries.length / mostEntries);
  const read = Array.from({ length: Math.min(entries.length, mostEntries) }, (_, at) => entries[Math.floor(at * step)]);
  const texts = read.flatMap((entry) => (entry && dataFormat(entry.path) === undefined ? [entry] : []));
  let [at, bytes] = [0, 0];
  for await (const content of soundBlobs(
    head,
    texts.map(({ oid }) => oid),
  )) {
    const path = texts[at++]?.path ?? '';
    if (content instanceof DomainError) continue;
    bytes += content.length;
    if (bytes > mostBytes) break;
    counts.add(splitFile(content.toString('utf8'), path).body);
  }
  const defined = await filterYielding(await head.files(), ({ path }) => definition.test(path));
  await forEachYielding(defined, ({ path }) => counts.define(definition.exec(path)?.[1] ?? path));
  return counts.snippets();
}

/** The snippets of collections by the trees they were read at. */
export class SnippetCache {
  readonly #snippets = new VersionCache<Snippet[]>({ versions: 64, subjects: 64 });

  /** @throws DomainError `not_found` for a collection that does not exist */
  async of(git: Repository, head: Snapshot, site: SiteIndex, collection: string): Promise<Snippet[]> {
    const { entries } = site.collection(collection);
    const subject = JSON.stringify([git.id, site.schemaKey, collection]);
    return this.#snippets.of(subject, head.tree ?? '', () => readSnippets(head, entries));
  }
}

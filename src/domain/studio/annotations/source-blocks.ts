import type { Nodes, Parents, Root } from 'mdast';
import { fromMarkdown, type Options } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { mdxExpressionFromMarkdown } from 'mdast-util-mdx-expression';
import { mdxJsxFromMarkdown } from 'mdast-util-mdx-jsx';
import { gfm } from 'micromark-extension-gfm';
import { mdxExpression } from 'micromark-extension-mdx-expression';
import { mdxJsx } from 'micromark-extension-mdx-jsx';
import { comparableText } from '../../../lib/text.ts';
import type { PageBlockKind } from '../../../ports/page-annotator.ts';
import { bodyPlace, splitFile } from '../frontmatter/split.ts';
import { leavesOf } from './page-leaves.ts';

/**
 * The blocks of an entry's body: the smallest pieces of the source that a page shows as pieces of its own, each with its place in the file
 * and the text that a reader sees. What only templates know (shortcodes, components, interpolations) is taken out of the text.
 */

export type BlockKind = Exclude<PageBlockKind, 'field'>;

export interface SourceBlock {
  kind: BlockKind;
  /** Lines of the file, from 1, both inside the block. */
  start_line: number;
  end_line: number;
  /** Offsets in the file, in UTF-16 units. */
  start: number;
  end: number;
  /** Comparable text (`comparableText`); empty where the block has no letter and no digit. */
  text: string;
  /** It contains something that only the site's build can render. */
  has_template: boolean;
}

/** What is markup beside Markdown in the bodies of a site. */
export interface Dialect {
  /** Components and expressions of MDX; HTML and indented code are none there. */
  mdx: boolean;
  /** `liquid`: `{{ }}` and `{% %}` (Liquid, Nunjucks); `shortcodes`: `{{< >}}` and `{{% %}}` (Hugo); `interpolation`: `{{ }}` (Vue). */
  templates: 'liquid' | 'shortcodes' | 'interpolation' | null;
  /** Lines that begin with a colon are definitions of the terms above them. */
  definitions?: boolean;
}

const templatesOf: Readonly<Record<string, Dialect['templates']>> = {
  hugo: 'shortcodes',
  jekyll: 'liquid',
  eleventy: 'liquid',
  hexo: 'liquid',
  vitepress: 'interpolation',
  nuxt_content: 'interpolation',
};

/** The dialect of a file of a site. Docusaurus reads `.md` as MDX, too. */
export const dialectOf = (framework: string | null, path: string): Dialect => ({
  mdx: path.endsWith('.mdx') || framework === 'docusaurus',
  templates: templatesOf[framework ?? ''] ?? null,
});

const masks: Record<Exclude<Dialect['templates'], null>, RegExp> = {
  liquid: /\{\{(?:(?!\}\})[\s\S]){0,4096}\}\}|\{%(?:(?!%\})[\s\S]){0,4096}%\}/g,
  shortcodes: /\{\{[<%](?:(?![>%]\}\})[\s\S]){0,4096}[>%]\}\}/g,
  interpolation: /\{\{(?:(?!\}\})[\s\S]){0,4096}\}\}/g,
};

/** Stands for what was taken out: no letter, so no part of comparable text, and a sign that something was here. */
const gap = '\u2063';
const blank = (text: string) => text.replace(/[^\r\n]/g, gap);
const spaces = (text: string) => text.replace(/[^\r\n]/g, ' ');

/** Imports and exports of MDX, to the blank line after them. */
const esm = /^(?:import|export)[ \t{*][^\r\n]*(?:\r?\n(?![ \t]*\r?\n)[^\r\n]*)*/gm;
/**
 * Takes out of a line what is a container (`:::`, `::name`) or attributes (`{: .class}` alone, `{#id}` at the end) in the dialects of
 * generators.
 */
function withoutMarkers(line: string): string {
  if (line.replace(/^[ \t>]+/, '').startsWith('::')) return spaces(line);
  const at = line.lastIndexOf('{');
  const isAttributes = at >= 0 && /^\{[#.:]/.test(line.slice(at, at + 2)) && line.trimEnd().endsWith('}');
  return isAttributes ? line.slice(0, at) + spaces(line.slice(at)) : line;
}

/** Takes out what is not Markdown; every character keeps its place. */
function mask(body: string, { mdx, templates }: Dialect): string {
  let text = templates === null ? body : body.replace(masks[templates], blank);
  if (mdx) text = text.replace(esm, spaces);
  return text.replace(/[^\r\n]+/g, withoutMarkers);
}

interface Line {
  /** Without the indentation of what it lies in. */
  text: string;
  number: number;
  /** Offset of its first character in the file. */
  offset: number;
}

/** `!!! note`, `??? tip "…"`, `=== "Tab"`: what follows indented is their content (Python-Markdown). */
const admonition = /^([ \t]*)(?:!!!|\?\?\?\+?|===)[ \t]/;

/** Lines of a body; the contents of admonitions are dedented, since they are Markdown and no code. */
function linesOf(text: string, first: number, offset: number): Line[] {
  const lines: Line[] = [];
  const open: number[] = [];
  let at = offset;
  for (const [index, whole] of text.split(/(?<=\n)/).entries()) {
    const indent = /^[ \t]*/.exec(whole)?.[0].length ?? 0;
    const isBlank = whole.trim() === '';
    while (!isBlank && open.length > 0 && indent < (open.at(-1) ?? 0)) open.pop();
    const cut = Math.min(indent, open.at(-1) ?? 0);
    const line = whole.slice(cut);
    const begins = admonition.exec(line);
    lines.push({ text: begins ? spaces(line) : line, number: first + index, offset: at + cut });
    if (begins) open.push(cut + (begins[1]?.length ?? 0) + 4);
    at += whole.length;
  }
  return lines;
}

const isBlank = ({ text }: Line) => text.trim() === '';

/** Lines of which terms and definitions are blocks of their own: between two of them stands an empty one that the file does not have. */
function withDefinitions(lines: readonly Line[]): Line[] {
  const found: Line[] = [];
  let fence: string | null = null;
  /** Columns of the mark of the definition that is read; 0: none is. */
  let width = 0;
  const gapBefore = ({ number, offset }: Line): Line => ({ text: '\n', number, offset });
  for (const line of lines) {
    const fenced = /^ {0,3}(```|~~~)/.exec(line.text)?.[1] ?? null;
    if (fence !== null || fenced !== null) {
      fence = fence === null ? fenced : fence === fenced ? null : fence;
      width = 0;
      found.push(line);
      continue;
    }
    const above = found.findLastIndex((one) => !isBlank(one));
    const distance = found.length - 1 - above;
    const mark = /^ {0,3}:[ \t]+(?=\S)/.exec(line.text)?.[0] ?? '';
    const isDefinition = mark !== '' && above >= 0 && distance <= 1;
    if (isDefinition && (width > 0 || !/^[ \t]*[#|>]/.test(found[above]?.text ?? ''))) {
      if (width === 0)
        for (let at = above; at > 0 && !isBlank(found[at - 1] as Line); at -= 1)
          found.splice(at, 0, gapBefore(found[at] as Line));
      found.push(gapBefore(line), { ...line, text: line.text.slice(mark.length), offset: line.offset + mark.length });
      width = mark.length;
      continue;
    }
    const indent = /^ */.exec(line.text)?.[0].length ?? 0;
    if (!isBlank(line) && indent === 0 && distance > 0) width = 0;
    const cut = isBlank(line) ? 0 : Math.min(indent, width);
    found.push({ ...line, text: line.text.slice(cut), offset: line.offset + cut });
  }
  return found;
}

/**
 * Without links of bare addresses, which begin at each word and are looked for in the finished tree once more: a third of the reading, and the
 * text of a block is the same.
 */
const gfmNodes = gfmFromMarkdown().map(({ transforms, ...nodes }) => nodes);
function gfmSyntax(): ReturnType<typeof gfm> {
  const { text, ...syntax } = gfm();
  const withoutAddresses = Object.entries(text ?? {}).map(([code, constructs]) => [
    code,
    [constructs ?? []].flat().filter(({ name }) => !name?.endsWith('Autolink')),
  ]);
  return { ...syntax, text: Object.fromEntries(withoutAddresses) };
}

const markdown: Options = { extensions: [gfmSyntax()], mdastExtensions: gfmNodes };
const mdx: Options = {
  extensions: [
    gfmSyntax(),
    mdxJsx(),
    mdxExpression(),
    { disable: { null: ['autolink', 'codeIndented', 'htmlFlow', 'htmlText'] } },
  ],
  mdastExtensions: [...gfmNodes, mdxJsxFromMarkdown(), mdxExpressionFromMarkdown()],
};

/** MDX that is none would not build either: what can be read of it is. */
function parse(text: string, isMdx: boolean): Root {
  if (!isMdx) return fromMarkdown(text, markdown);
  try {
    return fromMarkdown(text, mdx);
  } catch {
    return fromMarkdown(text, markdown);
  }
}

/** Reads the blocks of a content file. @param text the whole file */
export function blocksOfFile(text: string, path: string, dialect: Dialect): SourceBlock[] {
  const file = splitFile(text, path);
  return new BlockReader(file.body, dialect, bodyPlace(file)).read();
}

/** What a reader sees of inline content. */
interface Visible {
  text: string;
  has_template: boolean;
  images: Nodes[];
}

const visibleText = (text: string): Visible => ({ text, has_template: false, images: [] });

/** Reads the blocks of one body. */
class BlockReader {
  readonly #tree: Root;
  readonly #lines: readonly Line[];
  readonly #footnotes = new Map<string, SourceBlock[]>();
  /** Names of the footnotes that the text refers to. */
  readonly #references = new Set<string>();
  #blocks: SourceBlock[] = [];

  /** @param place line of the file with which the body begins, from 1, and its offset in the file */
  constructor(body: string, dialect: Dialect, { line, offset }: { line: number; offset: number }) {
    const lines = linesOf(mask(body, dialect), line, offset);
    this.#lines = dialect.definitions ? withDefinitions(lines) : lines;
    this.#tree = parse(this.#lines.map(({ text }) => text).join(''), dialect.mdx);
  }

  read(): SourceBlock[] {
    this.#visit(this.#tree, null);
    // Footnotes stand at the end of the page, in the order in which the text refers to them.
    for (const name of this.#references) this.#blocks.push(...(this.#footnotes.get(name) ?? []));
    return this.#blocks.filter(({ text, kind }) => text !== '' || kind === 'image');
  }

  #visit(node: Nodes, parent: Nodes | null): void {
    switch (node.type) {
      case 'heading':
        this.#addInline('heading', node);
        break;
      case 'paragraph':
        this.#addInline(parent?.type === 'listItem' ? 'list_item' : 'paragraph', node);
        break;
      case 'tableCell':
        this.#addInline('table_cell', node);
        break;
      case 'code':
        this.#add('code', node, visibleText(node.value));
        break;
      case 'html':
        for (const { kind, text } of leavesOf(node.value).leaves)
          if (kind !== 'image') this.#add('html', node, visibleText(text));
        break;
      case 'footnoteDefinition': {
        const outer = this.#blocks;
        this.#blocks = [];
        for (const child of node.children) this.#visit(child, node);
        this.#footnotes.set(node.identifier, this.#blocks);
        this.#blocks = outer;
        break;
      }
      default:
        if ('children' in node) for (const child of node.children) this.#visit(child, node);
    }
  }

  #addInline(kind: BlockKind, node: Parents): void {
    const visible = visibleText('');
    for (const child of node.children) this.#readInline(child, visible);
    // A paragraph of nothing but an image is that image.
    if (comparableText(visible.text) !== '' || visible.images.length === 0) this.#add(kind, node, visible);
    for (const image of visible.images) this.#add('image', image, visibleText('alt' in image ? (image.alt ?? '') : ''));
  }

  #readInline(node: Nodes, visible: Visible): void {
    switch (node.type) {
      case 'text':
      case 'inlineCode':
        visible.text += node.value;
        break;
      case 'break':
        visible.text += ' ';
        break;
      case 'image':
      case 'imageReference':
        visible.images.push(node);
        break;
      case 'footnoteReference':
        this.#references.add(node.identifier);
        break;
      default:
        if (node.type.startsWith('mdx')) visible.has_template = true;
        if ('children' in node) for (const child of node.children) this.#readInline(child, visible);
    }
  }

  #add(kind: BlockKind, { position }: Nodes, { text, has_template }: Visible): void {
    if (!position) return;
    const [start, end] = [this.#at(position.start), this.#at(position.end)];
    this.#blocks.push({
      kind,
      start_line: start.line,
      end_line: end.line,
      start: start.offset,
      end: end.offset,
      text: comparableText(text),
      has_template: has_template || text.includes(gap),
    });
  }

  #at({ line, column }: { line: number; column: number }): { line: number; offset: number } {
    const at = this.#lines[line - 1] ?? this.#lines.at(-1);
    return { line: at?.number ?? 1, offset: (at?.offset ?? 0) + column - 1 };
  }
}

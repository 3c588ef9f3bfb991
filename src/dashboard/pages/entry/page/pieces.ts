/** Which part of an entry's text each piece of its page is, and how a part of the text is to be shown there. */
import { markdownLanguage } from '@codemirror/lang-markdown';
import type { Nodes } from 'mdast';
import type { PageElement, PageNode, PagePiece } from '../../../in-page/messages.ts';
import { parseMarkdown, safeAddress } from '../../../lib/markdown.ts';
import type { SyntaxNode } from '../visual/shown.ts';
import { readTable } from '../visual/table-source.ts';

/** A piece as the server found it. */
export interface FoundPiece {
  kind: string;
  selector: string;
  text: string;
  start_line: number | null;
  end_line: number | null;
  field: string | null;
  is_changed: boolean;
}

const isImage = ({ kind, selector }: FoundPiece) => kind === 'image' || /(?:^| )img(?::[\w()-]+)?$/.test(selector);

/** Fields that are edited on the page are text; days and pictures have their inputs among the fields. */
export const isFieldText = (value: unknown): value is string =>
  typeof value === 'string' && !/^\d{4}-\d\d-\d\d/.test(value);

/** The pieces that can be edited on the page, by their places in the list: those that show what the branch has. */
export function offered(pieces: readonly FoundPiece[], read: (field: string) => unknown): PagePiece[] {
  return pieces.flatMap((piece, id) => {
    const { field, selector, text, is_changed } = piece;
    const isText = field === null || (isFieldText(read(field)) && !isImage(piece));
    return isText && !is_changed ? [{ id, selector, text, isImage: isImage(piece) }] : [];
  });
}

/** The pieces that say where in the text a place of the page is, where it is not edited itself. */
export const landmarks = (pieces: readonly FoundPiece[]): PagePiece[] =>
  pieces.flatMap((piece, id) => {
    const { field, selector, text, start_line } = piece;
    return field === null && start_line !== null ? [{ id, selector, text, isImage: isImage(piece) }] : [];
  });

/** Offsets in a body. */
export interface Part {
  id: number;
  kind: string;
  from: number;
  to: number;
  /** Of a cell, in its table: its row, -1 for the head, and its column. */
  cell?: { row: number; column: number };
}

const tables = ['Table'];
const code = ['FencedCode', 'CodeBlock'];
const text = [
  'Paragraph',
  'Task',
  ...[1, 2, 3, 4, 5, 6].map((level) => `ATXHeading${level}`),
  'SetextHeading1',
  'SetextHeading2',
];

/** The first element of some kinds that lies within two offsets, or around them. */
function within(root: SyntaxNode, from: number, to: number, names: readonly string[]): SyntaxNode | null {
  for (let node: SyntaxNode | null = root.resolveInner(from, 1); node; node = node.parent)
    if (names.includes(node.name)) return node;
  let found: SyntaxNode | null = null;
  root.cursor().iterate((node) => {
    if (found || node.from > to || node.to < from) return false;
    if (node.from >= from && names.includes(node.name)) found = node.node;
    return found === null;
  });
  return found;
}

/**
 * The parts of a body that pieces of its page show: of a list's item its text without the mark, of a cell the table it is in. Pieces that were changed
 * since they were built, and fields, have none.
 * @param body_line line of the file, from 1, with which the body begins
 */
export function partsOf(body: string, pieces: readonly FoundPiece[], body_line: number): Part[] {
  const starts = [0];
  for (let at = body.indexOf('\n'); at >= 0; at = body.indexOf('\n', at + 1)) starts.push(at + 1);
  const root = markdownLanguage.parser.parse(body).topNode;
  const lineOf = (at: number) => starts.findLastIndex((start) => start <= at);
  return pieces.flatMap(({ kind, selector, start_line, end_line, field, is_changed }, id) => {
    if (field !== null || is_changed || start_line === null || end_line === null) return [];
    const from = starts[start_line - body_line];
    if (from === undefined || start_line > end_line) return [];
    const end = starts[end_line - body_line + 1];
    const to = end === undefined ? body.length : end - 1;
    const first = from + (/^[ \t>]*/.exec(body.slice(from, to))?.[0].length ?? 0);
    const names = kind === 'table_cell' ? tables : kind === 'code' ? code : kind === 'html' ? [] : text;
    if (/ > d[td]:nth-child\(\d+\)(?: > p:nth-child\(\d+\))?$/.test(selector)) {
      // Markdown itself knows no definitions: to its parser, a list of them is a paragraph.
      const mark = /^:[ \t]+/.exec(body.slice(first, to))?.[0].length ?? 0;
      return [{ id, kind, from: first + mark, to }];
    }
    const node = within(root, first, to, names);
    const part: Part = { id, kind, from: node?.from ?? from, to: node?.to ?? to };
    const column = [...selector.matchAll(/\bt[dh]:nth-child\((\d+)\)/g)].at(-1)?.[1];
    if (kind === 'table_cell' && node && column !== undefined) {
      // The line below the head is none of the table's rows.
      const line = lineOf(first) - lineOf(node.from);
      part.cell = { row: line === 0 ? -1 : line - 2, column: Number(column) - 1 };
    }
    return [part];
  });
}

/** What a list of pieces shows of one: of a cell itself, not its table; null for one that was deleted. @param slice the text of its part */
export function partText(slice: string, part: Pick<Part, 'cell'> | undefined): string | null {
  if (!part?.cell) return slice;
  const { head, rows } = readTable(slice);
  const { row, column } = part.cell;
  return (row < 0 ? head : rows[row])?.[column]?.text ?? null;
}

type Definitions = ReadonlyMap<string, string>;

function inside(node: Nodes, definitions: Definitions): PageNode[] {
  return 'children' in node ? node.children.flatMap((child) => nodesOf(child, definitions)) : [];
}

function element(tag: PageElement['tag'], node: Nodes, definitions: Definitions): PageElement {
  return { tag, children: inside(node, definitions) };
}

function link(url: string | undefined, node: Nodes, definitions: Definitions): PageNode[] {
  const address = url === undefined ? null : safeAddress(url);
  const children = inside(node, definitions);
  return address === null ? children : [{ tag: 'a', url: address, children }];
}

function image(url: string | undefined, alt: string | null | undefined): PageNode[] {
  const address = url === undefined ? null : safeAddress(url);
  return [{ tag: 'img', ...(address !== null && { url: address }), alt: alt ?? '', children: [] }];
}

/** What the page shows for a node of Markdown; HTML as its source, since nothing of a text becomes markup here. */
function nodesOf(node: Nodes, definitions: Definitions): PageNode[] {
  switch (node.type) {
    case 'text':
    case 'html':
      return [node.value];
    case 'paragraph':
      return [element('p', node, definitions)];
    case 'heading':
      return [element(`h${node.depth}`, node, definitions)];
    case 'emphasis':
      return [element('em', node, definitions)];
    case 'strong':
      return [element('strong', node, definitions)];
    case 'delete':
      return [element('del', node, definitions)];
    case 'inlineCode':
      return [{ tag: 'code', children: [node.value] }];
    case 'break':
      return [{ tag: 'br', children: [] }];
    case 'link':
      return link(node.url, node, definitions);
    case 'linkReference':
      return link(definitions.get(node.identifier), node, definitions);
    case 'image':
      return image(node.url, node.alt);
    case 'imageReference':
      return image(definitions.get(node.identifier), node.alt);
    case 'footnoteReference':
      return [{ tag: 'sup', children: [node.label ?? node.identifier] }];
    case 'thematicBreak':
      return [{ tag: 'hr', children: [] }];
    case 'blockquote':
      return [element('blockquote', node, definitions)];
    case 'code':
      return [{ tag: 'pre', children: [node.value] }];
    case 'list':
      return [element(node.ordered ? 'ol' : 'ul', node, definitions)];
    case 'listItem':
      // A tight item shows its text without a paragraph around it.
      return [
        {
          tag: 'li',
          children: node.children.flatMap((child) =>
            child.type === 'paragraph' && !node.spread ? inside(child, definitions) : nodesOf(child, definitions),
          ),
        },
      ];
    case 'table':
      return [element('table', node, definitions)];
    case 'tableRow':
      return [element('tr', node, definitions)];
    case 'tableCell':
      return [element('td', node, definitions)];
    default:
      return [];
  }
}

/** Images among nodes, in their order. */
export const imagesIn = (nodes: readonly PageNode[]): PageElement[] =>
  nodes.flatMap((node) => (typeof node === 'string' ? [] : node.tag === 'img' ? [node] : imagesIn(node.children)));

/** Says of each image of a part which one it was built as: the next with its address. @param built addresses of the images that it was built with */
export function matchImages(nodes: readonly PageNode[], built: readonly (string | undefined)[]): void {
  const used = new Set<number>();
  for (const image of imagesIn(nodes)) {
    const at = built.findIndex((url, place) => url === image.url && !used.has(place));
    if (at < 0) continue;
    used.add(at);
    image.built = at;
  }
}

/** Lines that define the addresses of links by reference. */
const definition = /^ {0,3}\[[^\]\n]{1,200}\]:[^\n]*$/gm;

/** How a part of a text is shown on the page, block by block. */
export function shownNodes(whole: string, { from, to }: Pick<Part, 'from' | 'to'>): PageElement[] {
  const before = whole.slice(whole.lastIndexOf('\n', from - 1) + 1, from);
  const depth = before.split('>').length - 1;
  const lines = whole.slice(from, to).split('\n');
  const marks = new RegExp(`^(?:[ \\t]*>){0,${depth}}`);
  // Where it stands in quotes or in an item, its further lines begin as its first does.
  const own = lines.map((line, at) => {
    if (at === 0) return line;
    const rest = depth > 0 ? line.replace(marks, '') : line;
    const indent = Math.min(before.length, /^[ \t]*/.exec(rest)?.[0].length ?? 0);
    return rest.slice(indent);
  });
  const references = whole.match(definition) ?? [];
  const root = parseMarkdown([...own, '', ...references].join('\n'));
  const definitions = new Map(
    root.children.flatMap((node) => (node.type === 'definition' ? [[node.identifier, node.url] as const] : [])),
  );
  return root.children
    .flatMap((node) => nodesOf(node, definitions))
    .map((node) => (typeof node === 'string' ? { tag: 'p', children: [node] } : node));
}

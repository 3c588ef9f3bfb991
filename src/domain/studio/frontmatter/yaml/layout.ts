import { type CST, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap, type YAMLSeq } from 'yaml';

/** One pair of a map or one item of a list, as it lies in the source. */
export interface Entry {
  /** First character: of the key with its tag and anchor, of the dash, or in `[…]` of the value. */
  start: number;
  /** Where the value may begin: after the colon or the dash; in `[…]` the value's own first character. */
  valueAt: number;
  /** After the last character of the content; a comment behind it is not counted. */
  end: number;
  node: Node | null;
  key?: unknown;
  /** A pair without a colon (`{ a }` or `? a`). */
  bare?: boolean;
}

type Item = CST.CollectionItem;

/** The entries of a map or list parsed with `keepSourceTokens`. */
export function entriesOf(node: YAMLMap | YAMLSeq, source: string): Entry[] {
  if (isMap(node)) return node.items.map((pair) => pairEntry(pair as Pair<Node, Node | null>, source));
  const items = node.items as Node[];
  if (node.flow) return items.map((item) => flowItem(item, source));
  const tokens = (node.srcToken as CST.BlockSequence).items.filter((item) => find(item.start, 'seq-item-ind'));
  return items.map((item, at) => listItem(item, tokens[at] as Item, source));
}

function pairEntry(pair: Pair<Node, Node | null>, source: string): Entry {
  const item = pair.srcToken as Item | undefined;
  const keyStart = offsetOf(pair.key);
  const start = find(item?.start, 'explicit-key-ind', 'anchor', 'tag')?.offset ?? keyStart;
  const colon = find(item?.sep, 'map-value-ind');
  const valueAt = colon === undefined ? (pair.key.range?.[1] ?? keyStart) : colon.offset + 1;
  const props = item?.sep?.filter(({ type }) => type === 'anchor' || type === 'tag').at(-1);
  const least = props === undefined ? valueAt : props.offset + props.source.length;
  const end = Math.max(least, contentEnd(pair.value, source) ?? least);
  return { start, valueAt, end, node: pair.value, key: pair.key, bare: colon === undefined };
}

function listItem(node: Node, item: Item, source: string): Entry {
  const start = find(item.start, 'seq-item-ind')?.offset ?? offsetOf(node);
  const props = item.start.filter(({ type }) => type === 'anchor' || type === 'tag').at(-1);
  const least = props === undefined ? start + 1 : props.offset + props.source.length;
  return { start, valueAt: start + 1, end: Math.max(least, contentEnd(node, source) ?? least), node };
}

/** In `[…]` tags and anchors before the value are found by walking back to the comma or bracket. */
function flowItem(node: Node, source: string): Entry {
  const offset =
    isMap(node) && node.items.length > 0 && !isBraced(node, source) ? startOfBarePair(node) : offsetOf(node);
  const before = /(?:[&!][^\s,[\]{}]*[ \t]+)+$/.exec(source.slice(Math.max(0, offset - 256), offset))?.[0] ?? '';
  const start = offset - before.length;
  return { start, valueAt: start, end: contentEnd(node, source) ?? offset, node };
}

function isBraced(node: YAMLMap, source: string): boolean {
  return source[offsetOf(node)] === '{';
}

function startOfBarePair(node: YAMLMap): number {
  return Math.min(offsetOf(node), offsetOf(node.items[0]?.key));
}

function contentEnd(node: Node | null, source: string): number | undefined {
  if (node === null || isEmpty(node)) return undefined;
  if ((isMap(node) || isSeq(node)) && !node.flow) return entriesOf(node, source).at(-1)?.end;
  const end = node.range?.[1];
  if (end === undefined || !isScalar(node) || !node.type?.startsWith('BLOCK')) return end;
  return end - (/\r?\n$/.exec(source.slice(Math.max(0, end - 2), end))?.[0].length ?? 0);
}

/** Whether the last thing a value says is a block scalar that keeps all its line ends (`|+`). */
export function endsInKeep(node: Node | null, source: string): boolean {
  if ((isMap(node) || isSeq(node)) && !node.flow) {
    return endsInKeep(entriesOf(node, source).at(-1)?.node ?? null, source);
  }
  return isScalar(node) && /^[|>][1-9]?\+/.test(source.slice(offsetOf(node), offsetOf(node) + 3));
}

/** A value that has no characters: `key:` with nothing behind it. */
export function isEmpty(node: Node | null): boolean {
  return node === null || (isScalar(node) && !node.source && node.range?.[0] === node.range?.[1]);
}

export function offsetOf(node: unknown): number {
  return (node as Node | null | undefined)?.range?.[0] ?? 0;
}

function find(tokens: CST.SourceToken[] | undefined, ...types: string[]): CST.SourceToken | undefined {
  return tokens?.find(({ type }) => types.includes(type));
}

export function lineStart(source: string, offset: number): number {
  return source.lastIndexOf('\n', offset - 1) + 1;
}

/** Offset after the line end that follows. */
export function lineAfter(source: string, offset: number): number {
  const at = source.indexOf('\n', offset);
  return at < 0 ? source.length : at + 1;
}

export function columnOf(source: string, offset: number): number {
  return offset - lineStart(source, offset);
}

/** Whether something else stands before the entry on its line, as in `- key: value` or `- - item`. */
export function isInline(source: string, entry: Entry): boolean {
  return source.slice(lineStart(source, entry.start), entry.start).trim() !== '';
}

/** After the entry's last line, with the comment lines below that stand further in and so belong to it. */
export function linesEnd(source: string, entry: Entry): number {
  const column = columnOf(source, entry.start);
  let at = lineAfter(source, entry.end);
  for (;;) {
    const comment = /^([ \t]*)#/.exec(source.slice(at, lineAfter(source, at)));
    if (comment === null || (comment[1] ?? '').length <= column) return at;
    at = lineAfter(source, at);
  }
}

/** Start of the entry's first line, or of the comment lines directly above at the same column; not above `from`. */
export function linesStart(source: string, entry: Entry, from: number): number {
  const column = columnOf(source, entry.start);
  let at = lineStart(source, entry.start);
  while (at > from) {
    const above = lineStart(source, at - 1);
    if (above < from || /^([ \t]*)#/.exec(source.slice(above, at))?.[1]?.length !== column) return at;
    at = above;
  }
  return at;
}

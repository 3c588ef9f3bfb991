/**
 * Blocks of a body, and what is done with one as a whole. A block is a paragraph, heading, item, table or whatever else stands by itself; all but the
 * block, and the empty lines beside it, stay byte for byte.
 */
import { syntaxTree } from '@codemirror/language';
import { type ChangeSpec, type EditorState, StateEffect, type TransactionSpec } from '@codemirror/state';
import { around } from './marks.ts';
import { headingLevel, type Span, type SyntaxNode } from './shown.ts';

/** What a paragraph, heading, quote or list can become. */
export const kinds = [
  'paragraph',
  'heading2',
  'heading3',
  'heading4',
  'bullets',
  'numbers',
  'tasks',
  'quote',
  'code',
] as const;
export type Kind = (typeof kinds)[number];

/** The block at a place: the innermost item of a list, or the block of the document; null on an empty line. */
export function blockAt(state: EditorState, at: number): SyntaxNode | null {
  const [after, before] = [around(state, at, 1, 'ListItem'), around(state, at, -1, 'ListItem')];
  // At the end of an item, what comes after it is the item around it.
  const item = after && before ? (after.to - after.from < before.to - before.from ? after : before) : (after ?? before);
  if (item) return item;
  for (const side of [1, -1] as const)
    for (let node: SyntaxNode | null = syntaxTree(state).resolveInner(at, side); node; node = node.parent)
      if (node.parent?.name === 'Document') return node;
  return null;
}

/** What a change moves as a whole: offsets before it, and by how much they move. Offsets alone would stay behind where the text is taken out. */
export const moved = StateEffect.define<readonly (Span & { by: number })[]>();

/** The block of the document at a place. */
export function topBlockAt(state: EditorState, at: number): SyntaxNode | null {
  let block = blockAt(state, at);
  while (block?.parent && block.parent.name !== 'Document') block = block.parent;
  return block;
}

/** Lines of a block in full: from the beginning of its first. */
function linesOf(state: EditorState, { from, to }: Span): Span {
  return { from: state.doc.lineAt(from).from, to };
}

/** The number before an item of an ordered list. */
function numberOf(state: EditorState, item: SyntaxNode): Span | null {
  const mark = item.getChild('ListMark');
  return mark && /\d/.test(state.sliceDoc(mark.from, mark.to)) ? mark : null;
}

/** The blocks among which one can be moved: those of the document, or the items of its list. */
export function siblingsOf(block: SyntaxNode): SyntaxNode[] {
  const all: SyntaxNode[] = [];
  for (let node = block.parent?.firstChild; node; node = node.nextSibling) if (node.name !== 'ListMark') all.push(node);
  return all;
}

/** An item with the number of another place in its list; its lines keep their column. */
function renumbered(text: string, own: string, given: string): string {
  const [before, rest] = [text.slice(0, text.indexOf(own)), text.slice(text.indexOf(own) + own.length)];
  const room = own.length - given.length;
  if (room === 0 || !rest.includes('\n')) return before + given + rest;
  if (room > 0) return before + given + ' '.repeat(room) + rest;
  return rest.startsWith(' '.repeat(1 - room)) ? before + given + rest.slice(-room) : text;
}

/**
 * The first of some blocks that follow each other goes behind the last of them, or the last before the first. What stands between two that stay together
 * stays, and items of a list are numbered as before.
 * @param at a place in the block that moves
 */
function rotate(state: EditorState, run: readonly SyntaxNode[], direction: -1 | 1, at: number): TransactionSpec | null {
  const [first, last] = [run[0], run.at(-1)];
  if (!first || !last || first === last) return null;
  const turn = <T>(all: readonly T[]): T[] =>
    direction > 0 ? [...all.slice(1), ...all.slice(0, 1)] : [...all.slice(-1), ...all.slice(0, -1)];
  const spans = run.map((node) => linesOf(state, node));
  const numbers = run.map((node) => numberOf(state, node));
  const isItem = first.name === 'ListItem';
  // Blocks that follow each other without an empty line may be one when they have other neighbours.
  const isTight = (space: string) => !isItem && !space.includes('\n\n');
  const gap = ({ to }: Span, { from }: Span) => state.sliceDoc(to, from);
  const gaps = turn(spans.slice(1).map((span, index) => gap(spans[index] ?? span, span)));
  const moving = direction > 0 ? gaps.length - 1 : 0;
  const separators = gaps.map((space, index) => (index === moving && isTight(space) ? '\n\n' : space));
  const { from } = linesOf(state, first);
  const [before, after] = [first.prevSibling, last.nextSibling];
  const above = before && isTight(state.sliceDoc(before.to, from)) ? '\n' : '';
  const below = after && isTight(gap(last, linesOf(state, after))) ? '\n' : '';
  const marks = numbers.map((mark) => mark && state.sliceDoc(mark.from, mark.to));
  const effects: (Span & { by: number })[] = [];
  let insert = above;
  let anchor = from;
  for (const [place, index] of turn([...run.keys()]).entries()) {
    const span = spans[index] as Span;
    const [own, given] = [marks[index], marks[place]];
    const text = state.sliceDoc(span.from, span.to);
    const shown = own && given ? renumbered(text, own, given) : text;
    // What a number has lost or gained stands before the text of its item.
    const by = from + insert.length + shown.length - text.length - span.from;
    effects.push({ ...span, by });
    if (index === (direction > 0 ? 0 : run.length - 1)) anchor = Math.min(Math.max(at, span.from), span.to) + by;
    insert += shown + (separators[place] ?? '');
  }
  return {
    changes: { from, to: last.to, insert: insert + below },
    selection: { anchor },
    effects: moved.of(effects),
    userEvent: 'move.block',
    scrollIntoView: true,
  };
}

/** The block changes places with the one before or after it. @returns null where there is none */
export function move(state: EditorState, at: number, direction: -1 | 1): TransactionSpec | null {
  const block = blockAt(state, at);
  const other = direction < 0 ? block?.prevSibling : block?.nextSibling;
  if (!block || !other || other.name === 'ListMark') return null;
  return rotate(state, direction < 0 ? [other, block] : [block, other], direction, at);
}

/** A block moves to before another of those beside it, or behind them all. @param before null: behind them all @param at a place in it */
export function moveBefore(
  state: EditorState,
  block: SyntaxNode,
  before: SyntaxNode | null,
  at = block.from,
): TransactionSpec | null {
  const all = siblingsOf(block);
  const [own, target] = [block, before].map((node) => all.findIndex(({ from }) => from === node?.from)) as [
    number,
    number,
  ];
  const place = target < 0 ? all.length : target;
  return place > own ? rotate(state, all.slice(own, place), 1, at) : rotate(state, all.slice(place, own + 1), -1, at);
}

/** The block of the document at a place moves to before another, or to the end. @param before place of that block; null: the end */
export function moveTo(state: EditorState, at: number, before: number | null): TransactionSpec | null {
  const block = topBlockAt(state, at);
  return block && moveBefore(state, block, before === null ? null : topBlockAt(state, before), at);
}

/** Takes out a block with the empty lines after it. */
function cut(state: EditorState, block: SyntaxNode): ChangeSpec {
  const { from, to } = linesOf(state, block);
  const { nextSibling: next, prevSibling: before } = block;
  if (next) return { from, to: linesOf(state, next).from };
  return { from: before && before.name !== 'ListMark' ? before.to : from, to };
}

/** Takes a block out, with the empty lines after it; the last of a list takes the list along. */
export function remove(state: EditorState, at: number): TransactionSpec {
  let block = blockAt(state, at);
  if (!block) return {};
  if (block.name === 'ListItem' && block.parent?.getChildren('ListItem').length === 1) block = block.parent;
  return { changes: cut(state, block), userEvent: 'delete.block' };
}

export function duplicate(state: EditorState, at: number): TransactionSpec | null {
  const block = blockAt(state, at);
  if (!block) return null;
  const { from, to } = linesOf(state, block);
  const separator = block.name === 'ListItem' ? '\n' : '\n\n';
  return { changes: { from: to, insert: separator + state.sliceDoc(from, to) }, userEvent: 'input.block' };
}

/** The mark that the text uses for bullets; `-` where it has none. */
export function bulletOf(state: EditorState): string {
  let found = '-';
  syntaxTree(state).iterate({
    enter: ({ name, from, to, node }) => {
      if (name === 'ListMark' && node.parent?.parent?.name === 'BulletList') found = state.sliceDoc(from, to);
      return found === '-' || name === 'Document';
    },
  });
  return found;
}

/** Lines of text of a paragraph, heading, quote or list, without their marks; null for other blocks. */
function plainLines(state: EditorState, block: SyntaxNode): string[] | null {
  const text = state.sliceDoc(block.from, block.to);
  if (headingLevel(block.name) > 0) {
    const marks = block.getChildren('HeaderMark');
    const from = block.name.startsWith('ATX') ? (marks.shift()?.to ?? block.from) : block.from;
    return [state.sliceDoc(from, marks[0]?.from ?? block.to).trim()];
  }
  if (block.name === 'Paragraph') return text.split('\n');
  if (block.name === 'Blockquote') return text.split('\n').map((line) => line.replace(/^[ \t]*>[ \t]?/, ''));
  if (block.name === 'FencedCode') return text.split('\n').slice(1, -1);
  if (block.name === 'ListItem') {
    const mark = /^(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?/.exec(text)?.[0].length ?? 0;
    const [first = '', ...rest] = text.split('\n');
    return [first.slice(mark), ...rest.map((line) => line.replace(/^[ \t]+/, ''))];
  }
  return null;
}

const prefixes: Readonly<Partial<Record<Kind, (bullet: string) => string>>> = {
  bullets: (bullet) => `${bullet} `,
  numbers: () => '1. ',
  tasks: (bullet) => `${bullet} [ ] `,
  quote: () => '> ',
};

/** Makes another kind of block of one. @returns null for blocks that cannot become it */
export function turnInto(state: EditorState, at: number, kind: Kind): TransactionSpec | null {
  const block = blockAt(state, at);
  const lines = block && plainLines(state, block);
  if (!block || !lines) return null;
  const inList = block.name === 'ListItem';
  // A heading has one line.
  const joined = lines.map((line) => line.trim()).join(' ');
  const prefix = prefixes[kind]?.(bulletOf(state)) ?? '';
  const rest = kind === 'quote' ? '> ' : ' '.repeat(prefix.length);
  const level = Number(/^heading(\d)$/.exec(kind)?.[1] ?? 0);
  const text =
    level > 0
      ? `${'#'.repeat(level)} ${joined}`
      : kind === 'code'
        ? ['```', ...lines, '```'].join('\n')
        : lines.map((line, index) => (index === 0 ? prefix : line === '' ? '' : rest) + line).join('\n');
  const isItem = kind === 'bullets' || kind === 'numbers' || kind === 'tasks';
  const { from } = linesOf(state, block);
  // An item that leaves its list stands apart from what is left of it.
  const [above, under] = [block.prevSibling, block.nextSibling].map(
    (one) => inList && !isItem && one?.name === 'ListItem',
  );
  const gap = (isNeeded: boolean | undefined, space: string) => (isNeeded && !space.includes('\n\n') ? '\n' : '');
  const indent = inList && isItem ? state.sliceDoc(from, block.from) : '';
  const after = block.nextSibling ? state.sliceDoc(block.to, block.nextSibling.from) : '';
  const before = block.prevSibling ? state.sliceDoc(block.prevSibling.to, block.from) : '';
  const insert = gap(above, before) + indent + text.replaceAll('\n', `\n${indent}`) + gap(under, after);
  return {
    changes: { from, to: block.to, insert },
    selection: { anchor: from + insert.length - gap(under, after).length - (kind === 'code' ? 4 : 0) },
    userEvent: 'format.block',
    scrollIntoView: true,
  };
}

/** What text has to stand between a new block and its neighbours at a place. */
export function insertBlock(state: EditorState, at: number, text: string, caret = text.length): TransactionSpec {
  const line = state.doc.lineAt(at);
  const isEmpty = line.text.trim() === '';
  const from = isEmpty ? line.from : (blockAt(state, at)?.to ?? line.to);
  const before = state.sliceDoc(0, from);
  const after = state.sliceDoc(isEmpty ? line.to : from);
  const above = before === '' || before.endsWith('\n\n') ? '' : before.endsWith('\n') ? '\n' : '\n\n';
  const below = after.trim() === '' || after.startsWith('\n\n') ? '' : after.startsWith('\n') ? '\n' : '\n\n';
  return {
    changes: { from, to: isEmpty ? line.to : from, insert: above + text + below },
    selection: { anchor: from + above.length + caret },
    userEvent: 'insert.block',
    scrollIntoView: true,
  };
}

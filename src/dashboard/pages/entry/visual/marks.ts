/** Edits of text whose marks are not seen: none is left without its partner, and outside of what is edited no character changes. */
import { syntaxTree } from '@codemirror/language';
import {
  type ChangeSpec,
  EditorSelection,
  EditorState,
  type StateField,
  type Transaction,
  type TransactionSpec,
} from '@codemirror/state';
import type { EditorView } from '@codemirror/view';
import { type Hidden, inlineMarks, type Shown, type Span, type SyntaxNode } from './shown.ts';

/** The nearest node around a place that one of the names has. */
export function around(state: EditorState, at: number, side: -1 | 1, ...names: string[]): SyntaxNode | null {
  for (let node: SyntaxNode | null = syntaxTree(state).resolveInner(at, side); node; node = node.parent)
    if (names.includes(node.name)) return node;
  return null;
}

export const textBlocks = [
  'Paragraph',
  'Task',
  ...[1, 2, 3, 4, 5, 6].map((level) => `ATXHeading${level}`),
  'SetextHeading1',
  'SetextHeading2',
];
/** Blocks that are edited as they are written. */
export const verbatimBlocks = ['FencedCode', 'CodeBlock', 'HTMLBlock', 'CommentBlock', 'Table', 'LinkReference'];

/** The paragraph or heading at a place. */
export const textBlockAt = (state: EditorState, at: number): SyntaxNode | null =>
  around(state, at, 1, ...textBlocks) ?? around(state, at, -1, ...textBlocks);

export const contains = (outer: Span, inner: Span) => outer.from <= inner.from && inner.to <= outer.to;

/** Whether a mark and its partners go in full, or nothing of what they mark stays. */
function isEmptied(mark: Hidden, hidden: readonly Hidden[], gone: Span): boolean {
  if (contains(gone, mark.owner)) return true;
  const marks = hidden.filter(
    ({ kind, owner }) => kind === 'mark' && owner.from === mark.owner.from && owner.to === mark.owner.to,
  );
  let at = mark.owner.from;
  for (const { from, to } of [...marks, { from: mark.owner.to, to: mark.owner.to }]) {
    if (at < from && !contains(gone, { from: at, to: from })) return false;
    at = Math.max(at, to);
  }
  return true;
}

interface Deletion {
  spans: Span[];
  inserts: { from: number; insert: string }[];
}

/** What is deleted in place of a span, so that no mark loses its partner: the span without such marks, and marks of nothing. */
export function deletion(state: EditorState, { hidden }: Shown, gone: Span): Deletion {
  const touched = hidden.filter(({ kind, owner }) => kind === 'mark' && owner.from <= gone.to && gone.from <= owner.to);
  const spans: Span[] = [];
  const inserts: Deletion['inserts'] = [];
  const kept: Hidden[] = [];
  let at = gone.from;
  for (const mark of touched) {
    if (isEmptied(mark, hidden, gone)) {
      // Marks of nothing go, wherever they stand.
      if (!contains(gone, mark)) spans.push({ from: mark.from, to: mark.to });
      continue;
    }
    kept.push(mark);
    const from = Math.max(mark.from, gone.from);
    const to = Math.min(mark.to, gone.to);
    if (from >= to) continue;
    if (at < from) spans.push({ from: at, to: from });
    if (mark.isBlock && gone.from < mark.owner.from && mark.from === mark.owner.from)
      inserts.push({ from, insert: '\n\n' });
    if (mark.isBlock && gone.to > mark.owner.to && mark.to === mark.owner.to)
      inserts.push({ from: to, insert: '\n\n' });
    at = Math.max(at, to);
  }
  if (at < gone.to) spans.push({ from: at, to: gone.to });
  // Two elements of one kind that meet become one.
  const met = meeting(state, kept, gone);
  spans.push(...met.map(({ from, to }) => ({ from, to })));
  for (const mark of kept.filter((one) => one.flanks && !met.includes(one))) {
    const spaces = spacesInside(state, mark, spans);
    if (!spaces) continue;
    spans.push(spaces);
    inserts.push({
      from: mark.from === mark.owner.from ? mark.from : mark.to,
      insert: state.sliceDoc(spaces.from, spaces.to),
    });
  }
  return { spans: spans.sort((one, other) => one.from - other.from), inserts };
}

/** Marks that end an element and begin another of its kind, with nothing left between them. */
function meeting(state: EditorState, marks: readonly Hidden[], gone: Span): Hidden[] {
  const text = ({ from, to }: Span) => state.sliceDoc(from, to);
  return marks.flatMap((closing) => {
    const opening = marks.find(({ from, owner }) => from === owner.from && from >= closing.to);
    const isMet = closing.to === closing.owner.to && opening && contains(gone, { from: closing.to, to: opening.from });
    return isMet && !closing.isBlock && text(closing) === text(opening) ? [closing, opening] : [];
  });
}

/** Spaces that would be left beside a mark, inside of what it marks; null where there are none. */
function spacesInside(state: EditorState, mark: Hidden, gone: readonly Span[]): Span | null {
  const step = mark.from === mark.owner.from ? 1 : -1;
  let at = step > 0 ? mark.to : mark.from - 1;
  while (gone.some(({ from, to }) => from <= at && at < to)) at += step;
  const first = at;
  while (/[ \t]/.test(state.sliceDoc(at, at + 1)) && !gone.some(({ from, to }) => from <= at && at < to)) at += step;
  if (at === first) return null;
  return step > 0 ? { from: first, to: at } : { from: at + 1, to: first + 1 };
}

/** Changes deletions so that marks stay whole, whatever made them: a key, a paste, a cut, a drag or an input method. */
export const keepMarks = (field: StateField<Shown>) =>
  EditorState.transactionFilter.of((transaction): Transaction | TransactionSpec => {
    if (!transaction.docChanged || !(transaction.isUserEvent('delete') || transaction.isUserEvent('input')))
      return transaction;
    const shown = transaction.startState.field(field, false);
    if (!shown) return transaction;
    const changes: ChangeSpec[] = [];
    let isOther = false;
    let end: { at: number; side: -1 | 1 } = { at: 0, side: -1 };
    transaction.changes.iterChanges((from, to, _newFrom, _newTo, inserted) => {
      const { spans, inserts } =
        from === to ? { spans: [], inserts: [] } : deletion(transaction.startState, shown, { from, to });
      const [only] = spans;
      isOther ||= from < to && (spans.length !== 1 || only?.from !== from || only.to !== to || inserts.length > 0);
      changes.push({ from, insert: inserted }, ...spans, ...inserts);
      end = { at: from, side: inserted.length > 0 ? 1 : -1 };
    });
    if (!isOther) return transaction;
    const set = transaction.startState.changes(changes);
    return {
      changes: set,
      selection: EditorSelection.cursor(set.mapPos(end.at, end.side)),
      userEvent: transaction.isUserEvent('delete') ? 'delete' : 'input',
      scrollIntoView: true,
    };
  });

const inlineNames = ['Emphasis', 'StrongEmphasis', 'Strikethrough', 'InlineCode', 'Link'];

/** Marks that end and begin again what a break at a place would cut. */
export function cutMarks(state: EditorState, at: number): { close: string; open: string } {
  let [close, open] = ['', ''];
  for (let node: SyntaxNode | null = syntaxTree(state).resolveInner(at, 0); node; node = node.parent) {
    if (!inlineNames.includes(node.name) || at <= node.from || at >= node.to) continue;
    const marks = inlineMarks.flatMap((name) => node?.getChildren(name) ?? []);
    const [first, second] = marks;
    const last = node.name === 'Link' ? second : marks.at(-1);
    if (!first || !last || at < first.to || at > last.from) continue;
    close += state.sliceDoc(last.from, node.to);
    open = state.sliceDoc(node.from, first.to) + open;
  }
  return { close, open };
}

const standardMarks = { Emphasis: '*', StrongEmphasis: '**', Strikethrough: '~~', InlineCode: '`' };

/** The mark that the text uses for a kind of element, else the usual one. */
function markFor(state: EditorState, name: keyof typeof standardMarks): string {
  let found: string | null = null;
  syntaxTree(state).iterate({
    enter({ node }) {
      const mark = node.name === name && found === null ? node.firstChild : null;
      if (mark) found = state.sliceDoc(mark.from, mark.to);
      return found === null;
    },
  });
  return found ?? standardMarks[name];
}

/** Puts marks around what is selected or the word at the cursor, in each block by itself, or takes them away. */
export function toggleInline(view: EditorView, name: keyof typeof standardMarks): boolean {
  const { state } = view;
  const { main } = state.selection;
  if (state.readOnly) return false;
  const selected = main.empty ? (state.wordAt(main.head) ?? main) : main;
  const known = around(state, selected.from, 1, name) ?? around(state, selected.to, -1, name);
  const [first, last] = [known?.firstChild, known?.lastChild];
  if (known && first && last && contains(known, selected)) {
    const changes = [
      { from: first.from, to: first.to },
      { from: last.from, to: last.to },
    ];
    view.dispatch({ changes, userEvent: 'format', scrollIntoView: true });
    return true;
  }
  const mark = markFor(state, name);
  const changes: ChangeSpec[] = [];
  syntaxTree(state).iterate({
    from: selected.from,
    to: selected.to,
    enter(block) {
      if (!textBlocks.includes(block.name)) return;
      const [from, to] = [Math.max(block.from, selected.from), Math.min(block.to, selected.to)];
      const text = state.sliceDoc(from, to);
      const start = from + (/^(?:#+\s+|\s)*/.exec(text)?.[0].length ?? 0);
      const end = from + text.trimEnd().length;
      if (start < end) changes.push({ from: start, insert: mark }, { from: end, insert: mark });
    },
  });
  if (changes.length === 0) {
    const anchor = main.head + mark.length;
    view.dispatch({ changes: { from: main.head, insert: mark + mark }, selection: { anchor }, userEvent: 'format' });
    return true;
  }
  const set = state.changes(changes);
  const selection = EditorSelection.range(set.mapPos(main.anchor, 1), set.mapPos(main.head, main.empty ? 1 : -1));
  view.dispatch({ changes: set, selection, userEvent: 'format', scrollIntoView: true });
  return true;
}

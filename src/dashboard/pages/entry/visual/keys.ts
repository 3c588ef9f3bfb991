/** What Backspace, Delete, Enter and typing do in Visual: they act on what is seen, block by block. */
import { deleteMarkupBackward, insertNewlineContinueMarkup } from '@codemirror/lang-markdown';
import {
  EditorState,
  findClusterBreak,
  type StateCommand,
  type StateField,
  type Transaction,
  type TransactionSpec,
} from '@codemirror/state';
import { around, contains, cutMarks, textBlockAt, textBlocks, verbatimBlocks } from './marks.ts';
import { type Hidden, headingLevel, type Shown, type Span, type SyntaxNode } from './shown.ts';

/** Text that a transaction puts at the cursor; null for other changes. */
function typedBy(transaction: Transaction): string | null {
  const { head, empty } = transaction.startState.selection.main;
  if (!transaction.docChanged || !empty || !transaction.isUserEvent('input')) return null;
  const typed: string[] = [];
  transaction.changes.iterChanges((from, to, _newFrom, _newTo, inserted) => {
    typed.push(from === head && to === head ? inserted.toString() : '');
  });
  const [text = ''] = typed;
  return typed.length === 1 && text !== '' && !text.startsWith('\n') ? text : null;
}

/**
 * Puts typed text where it is seen to go: into a heading, before what ends or underlines it; beside code, a table or a rule, and on the empty line
 * between two blocks, into a block of its own.
 */
export const placeTyped = (field: StateField<Shown>) =>
  EditorState.transactionFilter.of((transaction): Transaction | TransactionSpec => {
    const { startState } = transaction;
    const shown = startState.field(field, false);
    const text = typedBy(transaction);
    if (!shown || text === null) return transaction;
    const { doc, selection } = startState;
    const { head } = selection.main;
    const put = (at: number, before: string, after: string): TransactionSpec => ({
      changes: { from: at, insert: before + text + after },
      selection: { anchor: at + before.length + text.length },
      userEvent: 'input',
      scrollIntoView: true,
    });
    const heading = textBlockAt(startState, head);
    for (const { from, to, kind, owner, isBlock } of shown.hidden) {
      const endsHeading = kind === 'mark' && to === head && owner.to === head && owner.from === heading?.from;
      if (endsHeading && headingLevel(heading?.name ?? '') > 0) return put(from, '', '');
      if (!isBlock || headingLevel(heading?.name ?? '') > 0) continue;
      if (owner.from === head) return put(head, '', '\n\n');
      if (owner.to === head) return put(head, '\n\n', '');
    }
    const line = doc.lineAt(head);
    const isVerbatim =
      around(startState, head, -1, ...verbatimBlocks) && around(startState, head, 1, ...verbatimBlocks);
    if (line.text.trim() !== '' || isVerbatim) return transaction;
    const isText = (number: number) => number >= 1 && number <= doc.lines && doc.line(number).text.trim() !== '';
    const [above, below] = [isText(line.number - 1), isText(line.number + 1)];
    return above || below ? put(head, above ? '\n' : '', below ? '\n' : '') : transaction;
  });

/** Steps over what is hidden before (or after) a place. */
function past(hidden: readonly Hidden[], at: number, direction: -1 | 1): number {
  const near = ({ kind, from, to }: Hidden) =>
    (kind === 'mark' || kind === 'prefix') && (direction < 0 ? to : from) === at;
  for (let next = hidden.find(near); next && next.to > next.from; next = hidden.find(near))
    at = direction < 0 ? next.from : next.to;
  return at;
}

/** Where the text of a block begins and ends, without what is hidden around it. */
function textOf(block: SyntaxNode, hidden: readonly Hidden[]): Span {
  const inside = hidden.filter((one) => one.kind !== 'object' && contains(block, one));
  let { from, to } = block;
  for (const one of inside) if (one.from === from && one.kind === 'prefix') from = one.to;
  for (const one of inside.toReversed())
    if (one.to === to && (one.isBlock || headingLevel(block.name) > 0)) to = one.from;
  return { from, to: Math.max(from, to) };
}

/** The block of text whose text ends last before a place, or begins first after it; null where something else comes between. */
function neighbour(state: EditorState, at: number, direction: -1 | 1): SyntaxNode | null {
  const { doc } = state;
  for (let line = doc.lineAt(at); ; line = doc.line(line.number + direction)) {
    if (line.number !== doc.lineAt(at).number && line.text.trim() !== '') {
      const place =
        direction < 0 ? line.to : line.from + (/^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?/.exec(line.text)?.[0].length ?? 0);
      if (around(state, place, direction < 0 ? -1 : 1, ...verbatimBlocks)) return null;
      return around(state, place, direction < 0 ? -1 : 1, ...textBlocks);
    }
    if (line.number === (direction < 0 ? 1 : doc.lines)) return null;
  }
}

/** Backspace: the character that is seen before the cursor goes; at the beginning of a block its kind, then its end. */
export const deleteBackward =
  (field: StateField<Shown>): StateCommand =>
  ({ state, dispatch }) => {
    const { main } = state.selection;
    const { hidden } = state.field(field);
    if (!main.empty || state.readOnly || around(state, main.head, -1, ...verbatimBlocks)) return false;
    const { head } = main;
    const block = textBlockAt(state, head);
    const line = state.doc.lineAt(head);
    if (line.text.trim() === '' && line.number > 1) return joinWithBefore(state, dispatch, head, line.to, hidden);
    if (!block) return false;
    if (head > textOf(block, hidden).from && head <= block.to) {
      const at = past(hidden, head, -1);
      if (at === head) return false;
      if (at <= block.from) return true;
      const object = hidden.find(({ kind, to }) => (kind === 'object' || kind === 'join') && to === at);
      const from = object?.from ?? line.from + findClusterBreak(line.text, at - line.from, false);
      dispatch(
        state.update({
          changes: { from, to: at },
          selection: { anchor: from },
          userEvent: 'delete.backward',
          scrollIntoView: true,
        }),
      );
      return true;
    }
    if (headingLevel(block.name) > 0 && !block.name.startsWith('Setext')) {
      const to = textOf(block, hidden).from;
      dispatch(
        state.update({ changes: { from: block.from, to }, selection: { anchor: block.from }, userEvent: 'input' }),
      );
      return true;
    }
    if (around(state, head, 1, 'ListItem', 'Blockquote')) return deleteMarkupBackward({ state, dispatch });
    return joinWithBefore(state, dispatch, head, head, hidden);
  };

function joinWithBefore(
  state: EditorState,
  dispatch: (transaction: Transaction) => void,
  head: number,
  to: number,
  hidden: readonly Hidden[],
): boolean {
  const before = neighbour(state, head, -1);
  if (before) return join(state, dispatch, before, { from: to, to: textBlockAt(state, to)?.to ?? to }, hidden);
  // Code, a table or nothing stands before it: that stays whole, and only empty lines go.
  const line = state.doc.lineAt(head);
  if (line.text.trim() === '' && line.number > 1) {
    const from = line.from - 1;
    dispatch(state.update({ changes: { from, to: line.to }, selection: { anchor: from }, userEvent: 'join' }));
  }
  return true;
}

/** Puts text at the end of the block before it, within what underlines that. */
function join(
  state: EditorState,
  dispatch: (transaction: Transaction) => void,
  before: SyntaxNode,
  text: Span,
  hidden: readonly Hidden[],
): boolean {
  const { to: end } = textOf(before, hidden);
  const changes =
    end === before.to
      ? { from: end, to: text.from }
      : [
          { from: end, insert: state.sliceDoc(text.from, text.to) },
          { from: before.to, to: text.to },
        ];
  dispatch(state.update({ changes, selection: { anchor: end }, userEvent: 'join', scrollIntoView: true }));
  return true;
}

/** Delete: as Backspace from the place after it. */
export const deleteForward =
  (field: StateField<Shown>): StateCommand =>
  ({ state, dispatch }) => {
    const { main } = state.selection;
    const { hidden } = state.field(field);
    if (!main.empty || state.readOnly || around(state, main.head, 1, ...verbatimBlocks)) return false;
    const block = textBlockAt(state, main.head);
    const at = past(hidden, main.head, 1);
    if (block && at < textOf(block, hidden).to) {
      if (at === main.head) return false;
      const line = state.doc.lineAt(at);
      const object = hidden.find(({ kind, from }) => (kind === 'object' || kind === 'join') && from === at);
      const to = object?.to ?? line.from + findClusterBreak(line.text, at - line.from, true);
      dispatch(
        state.update({
          changes: { from: at, to },
          selection: { anchor: at },
          userEvent: 'delete.forward',
          scrollIntoView: true,
        }),
      );
      return true;
    }
    const next = neighbour(state, block?.to ?? main.head, 1);
    if (!next) return state.doc.lineAt(main.head).text.trim() !== '';
    const text = textOf(next, hidden);
    if (block) return join(state, dispatch, block, { from: text.from, to: next.to }, hidden);
    const line = state.doc.lineAt(main.head);
    dispatch(state.update({ changes: { from: line.from, to: line.to + 1 }, userEvent: 'join' }));
    return true;
  };

/** Enter: the text after the cursor becomes a block of its own; in lists and quotes the next item or line. */
export const breakBlock: StateCommand = ({ state, dispatch }) => {
  const { main } = state.selection;
  if (state.readOnly || around(state, main.head, -1, ...verbatimBlocks)) return false;
  const block = textBlockAt(state, main.from);
  const { close, open } = main.empty ? cutMarks(state, main.head) : { close: '', open: '' };
  if (around(state, main.head, -1, 'ListItem', 'Blockquote')) {
    if (close === '') return insertNewlineContinueMarkup({ state, dispatch });
    const cut = state.update({
      changes: { from: main.head, insert: close + open },
      selection: { anchor: main.head + close.length },
      userEvent: 'break',
    });
    dispatch(cut);
    return insertNewlineContinueMarkup({ state: cut.state, dispatch });
  }
  const spaces = /^[ \t]*/.exec(state.sliceDoc(main.to, state.doc.lineAt(main.to).to))?.[0].length ?? 0;
  // Before the first letter of a heading, what comes is an empty line above it.
  if (main.empty && block && headingLevel(block.name) > 0 && /^#+[ \t]*$/.test(state.sliceDoc(block.from, main.head))) {
    dispatch(state.update({ changes: { from: block.from, insert: '\n\n' }, userEvent: 'break', scrollIntoView: true }));
    return true;
  }
  const insert = `${close}\n\n${open}`;
  dispatch(
    state.update({
      changes: { from: main.from, to: main.to + spaces, insert },
      selection: { anchor: main.from + insert.length },
      userEvent: 'break',
      scrollIntoView: true,
    }),
  );
  return true;
};

/** Shift+Enter: the line ends, the paragraph goes on. */
export const breakLine: StateCommand = ({ state, dispatch }) => {
  const { main } = state.selection;
  const block = textBlockAt(state, main.head);
  if (state.readOnly || !block || headingLevel(block.name) > 0) return false;
  const line = state.doc.lineAt(block.from);
  const prefix = state.sliceDoc(line.from, block.from).replace(/[^>\t]/g, ' ');
  // Two spaces, which every renderer reads; a backslash is text to some.
  dispatch(state.update(state.replaceSelection(`  \n${prefix}`), { userEvent: 'break', scrollIntoView: true }));
  return true;
};

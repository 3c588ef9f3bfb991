/**
 * Parts of the text that stand for pieces of a page, and the editor narrowed to one of them: all else is out of sight and out of reach. The text is whole,
 * so undoing, local drafts, merges and locks are those of the other views.
 */
import { invertedEffects } from '@codemirror/commands';
import {
  type ChangeDesc,
  EditorState,
  type Extension,
  Prec,
  StateEffect,
  StateField,
  Transaction,
} from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView } from '@codemirror/view';
import { moved } from '../visual/blocks.ts';
import type { Part } from './pieces.ts';

interface Parts {
  all: readonly Part[];
  /** Id of the one that is shown. */
  open: number | null;
}

/** @param takesIn what comes in at its ends belongs to it */
const mapped = (part: Part, changes: ChangeDesc, takesIn = true): Part => ({
  ...part,
  from: changes.mapPos(part.from, takesIn ? -1 : 1),
  to: changes.mapPos(part.to, takesIn ? 1 : -1),
});

/** Sets the parts, by offsets in the text as it is. */
export const setParts = StateEffect.define<readonly Part[]>({
  map: (parts, changes) => parts.map((part) => mapped(part, changes)),
});
/** Narrows the editor to a part. */
export const openPart = StateEffect.define<number | null>();

const parts = StateField.define<Parts>({
  create: () => ({ all: [], open: null }),
  update(value, transaction) {
    let { all, open } = value;
    if (transaction.docChanged) {
      const spans = transaction.effects.flatMap((effect) => (effect.is(moved) ? effect.value : []));
      all = all.map((part) => {
        const span = spans.find(({ from, to }) => from <= part.from && part.to <= to);
        if (span) return { ...part, from: part.from + span.by, to: part.to + span.by };
        return mapped(part, transaction.changes, spans.length === 0);
      });
    }
    for (const effect of transaction.effects) {
      if (effect.is(setParts)) all = effect.value;
      if (effect.is(openPart)) open = effect.value;
    }
    return all === value.all && open === value.open ? value : { all, open };
  },
});

const openIn = ({ all, open }: Parts): Part | null => all.find(({ id }) => id === open) ?? null;

/** What is moved and undone has its parts again where they were. */
const undoMoves = invertedEffects.of(({ startState, docChanged, effects }) =>
  docChanged && effects.some((effect) => effect.is(moved) || effect.is(setParts))
    ? [setParts.of(partsIn(startState))]
    : [],
);

/** The parts of an editor's text, where they are now. */
export const partsIn = (state: EditorState): readonly Part[] => state.field(parts, false)?.all ?? [];
/** The part that an editor is narrowed to. */
export const openedPart = (state: EditorState): Part | null =>
  openIn(state.field(parts, false) ?? { all: [], open: null });

/** Takes all but a part out of sight: whole lines, and what stands beside it on its own. */
function hidden(state: EditorState, part: Part | null): DecorationSet {
  if (!part) return Decoration.none;
  const { doc } = state;
  const [first, last] = [doc.lineAt(part.from), doc.lineAt(part.to)];
  const ranges = [];
  if (first.from > 0) ranges.push(Decoration.replace({ block: true }).range(0, first.from - 1));
  if (part.from > first.from) ranges.push(Decoration.replace({}).range(first.from, part.from));
  if (part.to < last.to) ranges.push(Decoration.replace({}).range(part.to, last.to));
  if (last.to < doc.length) ranges.push(Decoration.replace({ block: true }).range(last.to + 1, doc.length));
  return Decoration.set(ranges);
}

/** Typing and deleting do not leave the part, nor does the cursor; what comes from elsewhere may be anywhere. */
const keepInside = EditorState.transactionFilter.of((transaction) => {
  const part = openedPart(transaction.startState);
  // A block that is moved changes places with what is out of sight.
  const isFree = transaction.effects.some((effect) => effect.is(openPart) || effect.is(moved));
  if (!part || isFree) return transaction;
  let isOutside = false;
  transaction.changes.iterChanges((from, to) => {
    isOutside ||= from < part.from || to > part.to;
  });
  if (isOutside && transaction.annotation(Transaction.userEvent) !== undefined) return [];
  const { changes, newSelection } = transaction;
  const [from, to] = [changes.mapPos(part.from, -1), changes.mapPos(part.to, 1)];
  const { anchor, head } = newSelection.main;
  const clamp = (at: number) => Math.min(Math.max(at, from), to);
  if (clamp(anchor) === anchor && clamp(head) === head) return transaction;
  return [transaction, { selection: { anchor: clamp(anchor), head: clamp(head) }, sequential: true }];
});

/** What is undone is shown. The history passes no filter. */
const showUndone = EditorState.transactionExtender.of((transaction) => {
  const part = openedPart(transaction.startState);
  if (!part || !(transaction.isUserEvent('undo') || transaction.isUserEvent('redo'))) return null;
  let touched: number | null = null;
  transaction.changes.iterChanges((from, to) => {
    if (from >= part.from && to <= part.to) return;
    touched = partsIn(transaction.startState).find((one) => from >= one.from && to <= one.to)?.id ?? touched;
  });
  return touched === null ? null : { effects: openPart.of(touched) };
});

/** It lies over a page, and looks as that does. */
const look = EditorView.theme({
  '&': { height: 'auto', fontSize: 'inherit', color: 'inherit' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'inherit', lineHeight: 'inherit', overflow: 'visible' },
  '.cm-content': {
    maxWidth: 'none',
    fontSize: 'inherit',
    padding: '0',
    paddingBlockEnd: '0',
    caretColor: 'currentColor',
  },
  '.cm-line': { padding: '0', paddingInline: '0' },
  '.cm-line[class*="cm-h"]': {
    fontFamily: 'inherit',
    fontSize: 'inherit',
    fontWeight: 'inherit',
    lineHeight: 'inherit',
    paddingBlock: '0',
  },
  '.cm-line[class*="cm-depth"]': { paddingInlineStart: '0' },
  '.cm-cursor': { borderLeftColor: 'currentColor' },
  '.cm-table': { padding: '0' },
});

/** @param onChange after each change of the text or of the part that is shown */
export const oneBlock = (onChange: (state: EditorState) => void): Extension => [
  parts,
  undoMoves,
  Prec.highest([EditorView.decorations.compute([parts, 'doc'], (state) => hidden(state, openedPart(state))), look]),
  keepInside,
  showUndone,
  EditorView.updateListener.of(({ state, startState, docChanged }) => {
    if (docChanged || openedPart(state)?.id !== openedPart(startState)?.id) onChange(state);
  }),
];

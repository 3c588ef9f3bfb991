/** Where a person goes on who has opened a part of the text: in the cell or at the picture that was meant, or where the click was. */
import { syntaxTree } from '@codemirror/language';
import type { EditorView } from '@codemirror/view';
import { comparableText } from '../../../../lib/text.ts';
import type { Part } from './pieces.ts';

/** Tables are drawn a moment after their text is there, milliseconds. */
const patience = 2_000;

/** Opens a cell of the table that a view shows, as soon as that is drawn. */
function openCell({ contentDOM }: EditorView, { row, column }: NonNullable<Part['cell']>): void {
  const find = () =>
    contentDOM
      .querySelector<HTMLTableElement>('.cm-table table')
      ?.rows[row + 1]?.cells[column]?.querySelector('button');
  const cell = find();
  if (cell) {
    cell.click();
    return;
  }
  const drawn = new MutationObserver(() => {
    const now = find();
    if (!now) return;
    drawn.disconnect();
    now.click();
  });
  drawn.observe(contentDOM, { childList: true, subtree: true });
  setTimeout(() => drawn.disconnect(), patience);
}

/** Where the picture of a part begins: the one with an alternative text, or else the first. */
function pictureIn({ state }: EditorView, { from, to }: Part, alt: string): number | null {
  const found: { from: number; alt: string }[] = [];
  syntaxTree(state).iterate({
    from,
    to,
    enter(node) {
      if (node.name !== 'Image') return;
      const [open, close] = node.node.getChildren('LinkMark');
      found.push({ from: node.from, alt: comparableText(state.sliceDoc(open?.to, close?.from)) });
    },
  });
  return (found.find((one) => one.alt.startsWith(alt)) ?? found[0])?.from ?? null;
}

/**
 * @param piece what was opened
 * @param at where a click was, in the window
 */
export function focusPart(
  view: EditorView,
  part: Part,
  piece: { kind: string; text: string },
  at: { x: number; y: number } | 'end',
): void {
  const picture = piece.kind === 'image' ? pictureIn(view, part, piece.text) : null;
  const offset = picture ?? (at === 'end' ? part.to : view.posAtCoords(at, false));
  view.dispatch({ selection: { anchor: Math.min(Math.max(offset, part.from), part.to) } });
  view.focus();
  if (!part.cell) return;
  // Measured now, since it was out of sight until now: what is drawn anew afterwards would lose the focus.
  view.requestMeasure();
  view.coordsAtPos(part.from);
  openCell(view, part.cell);
}

/**
 * The body as it reads, edited in place: the same text and the same editor as *Source*, with what marks it up out of sight. Nothing is read into a model
 * and written back, so what is not edited stays byte for byte.
 */
import { syntaxTree } from '@codemirror/language';
import { type Extension, Prec, type StateField } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  EditorView,
  type KeyBinding,
  keymap,
  type PluginValue,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view';
import type { MarkdownPlace } from '../markdown.tsx';
import { blockAt, move } from './blocks.ts';
import { handle } from './handle.ts';
import { breakBlock, breakLine, deleteBackward, deleteForward, placeTyped } from './keys.ts';
import { linkCard } from './link-card.ts';
import { around, keepMarks, verbatimBlocks } from './marks.ts';
import { reveal, revealed, type Shown, shownBy } from './shown.ts';
import { type Inserts, slashMenu } from './slash-menu.ts';
import { widgetsFor } from './widgets.tsx';

const size = (rem: number, more: Record<string, string> = {}) => ({
  fontFamily: 'var(--mantine-font-family-headings)',
  fontSize: `${rem}rem`,
  fontWeight: '600',
  lineHeight: '1.3',
  paddingBlock: '12px 4px',
  ...more,
});
const depths = Object.fromEntries(
  [1, 2, 3, 4, 5, 6].map((depth) => [`.cm-line.cm-depth${depth}`, { paddingInlineStart: `${20 + depth * 24}px` }]),
);
const look = EditorView.theme({
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family)', lineHeight: '1.6' },
  // A picture or table that comes late is measured only where it changes the height of all.
  '.cm-content': { maxWidth: '68ch', fontSize: '0.875rem', minHeight: 'auto', paddingBlockEnd: '240px' },
  '.cm-line': { paddingInline: '20px' },
  '.cm-line.cm-h1': size(1.75),
  '.cm-line.cm-h2': size(1.25),
  '.cm-line.cm-h3': size(1),
  '.cm-line.cm-h4, .cm-line.cm-h5, .cm-line.cm-h6': size(0.875, { fontFamily: 'inherit' }),
  '.cm-line.cm-gap': { fontSize: '0.5rem' },
  '.cm-line.cm-quote': {
    borderInlineStart: '2px solid var(--p-line)',
    color: 'var(--p-soft)',
    marginInlineStart: '20px',
    paddingInlineStart: '16px',
  },
  ...depths,
  '.cm-bullet': {
    display: 'inline-block',
    inlineSize: '24px',
    marginInlineStart: '-24px',
    color: 'var(--p-soft)',
    userSelect: 'none',
  },
  '.cm-line input[type=checkbox]': {
    margin: '0 4px 0 0',
    verticalAlign: 'middle',
    inlineSize: '16px',
    blockSize: '16px',
  },
  '.cm-emphasis': { fontStyle: 'italic' },
  '.cm-strong': { fontWeight: '600' },
  '.cm-strike': { textDecoration: 'line-through' },
  '.cm-linkText': { color: 'var(--p-accent)', textDecoration: 'underline' },
  '.cm-codeText, .cm-template, .cm-line.cm-code, .cm-line.cm-sourceLine': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    fontSize: '0.8125rem',
  },
  '.cm-codeText, .cm-template': { background: 'var(--p-sunk)', borderRadius: '4px', padding: '1px 4px' },
  '.cm-line.cm-code, .cm-line.cm-sourceLine': {
    background: 'var(--p-sunk)',
    color: 'var(--p-ink)',
    marginInline: '20px',
    paddingInline: '12px',
  },
  '.cm-line.cm-sourceLine .cm-template': { padding: '0' },
  '.cm-line.cm-sourceLine': { borderInlineStart: '2px solid var(--p-strong-line)' },
  '.cm-line.cm-revealed': { borderInlineStartColor: 'var(--p-accent)' },
  '.cm-line.cm-codeFirst': { color: 'var(--p-soft)', borderStartStartRadius: '4px', borderStartEndRadius: '4px' },
  '.cm-line.cm-codeLast': { borderEndStartRadius: '4px', borderEndEndRadius: '4px' },
  '.cm-picture': { display: 'inline-block', maxInlineSize: '100%' },
  '.cm-picture img': { maxInlineSize: '100%', blockSize: 'auto' },
  '.cm-rule': {
    display: 'inline-block',
    inlineSize: '100%',
    borderBlockStart: '1px solid var(--p-strong-line)',
    verticalAlign: 'middle',
  },
  '.cm-table': { padding: '4px 20px' },
  '.cm-handle': {
    position: 'absolute',
    color: 'var(--p-soft)',
    cursor: 'grab',
    inlineSize: '16px',
    textAlign: 'center',
    touchAction: 'none',
    userSelect: 'none',
  },
  '.cm-handle[hidden], .cm-dropMark[hidden]': { display: 'none' },
  '.cm-dropMark': {
    position: 'absolute',
    borderBlockStart: '2px solid var(--p-accent)',
    inlineSize: '68ch',
    maxInlineSize: '90%',
  },
  '.cm-tooltip': {
    background: 'var(--p-raised)',
    border: '1px solid var(--p-line)',
    borderRadius: '6px',
    color: 'var(--p-ink)',
    fontFamily: 'var(--mantine-font-family)',
  },
  '.cm-linkCard': {
    display: 'flex',
    flexWrap: 'wrap',
    gap: '8px',
    padding: '8px 12px',
    fontSize: '0.8125rem',
    alignItems: 'end',
  },
  '.cm-linkCard label': { display: 'grid', gap: '4px', color: 'var(--p-soft)', flex: '1 1 200px' },
  '.cm-linkCard .cm-textfield, .cm-linkCard .cm-button': {
    color: 'var(--p-ink)',
    font: 'inherit',
    minHeight: '28px',
  },
});

/** Empty lines between blocks, which are narrow unless the cursor is in one. */
const gaps = ViewPlugin.define<PluginValue & { decorations: DecorationSet }>(
  (view) => {
    const read = (now: EditorView) => {
      const found = [];
      const { head } = now.state.selection.main;
      for (const { from, to } of now.visibleRanges)
        for (let { number } = now.state.doc.lineAt(from); number <= now.state.doc.lines; number += 1) {
          const line = now.state.doc.line(number);
          if (line.from > to) break;
          if (line.text.trim() !== '' || (line.from <= head && head <= line.to)) continue;
          if (!around(now.state, line.from, 1, ...verbatimBlocks))
            found.push(Decoration.line({ class: 'cm-gap' }).range(line.from));
        }
      return Decoration.set(found, true);
    };
    return {
      decorations: read(view),
      update(update: ViewUpdate) {
        const isRead = syntaxTree(update.startState) !== syntaxTree(update.state);
        if (update.docChanged || update.viewportChanged || update.selectionSet || isRead)
          this.decorations = read(update.view);
      },
    };
  },
  { decorations: ({ decorations }) => decorations },
);

/** The cursor passes the empty line between two blocks. */
const passGap =
  (isDown: boolean) =>
  (view: EditorView): boolean => {
    const { main } = view.state.selection;
    const next = view.moveVertically(main, isDown);
    const line = view.state.doc.lineAt(next.head);
    const isGap = line.text.trim() === '' && line.number > 1 && line.number < view.state.doc.lines;
    if (!isGap || line.from === view.state.doc.lineAt(main.head).from) return false;
    const beyond = view.moveVertically(next, isDown);
    view.dispatch({ selection: beyond, scrollIntoView: true, userEvent: 'select' });
    return true;
  };

/** Shows the Markdown of the block with the cursor, or hides it again. */
export function toggleMarkdown(view: EditorView): boolean {
  const { state } = view;
  const block = state.field(revealed, false) ? null : blockAt(state, state.selection.main.head);
  view.dispatch({ effects: reveal(block && { from: block.from, to: block.to }) });
  view.focus();
  return true;
}

export function moveBlock(view: EditorView, direction: -1 | 1): boolean {
  const change = view.state.readOnly ? null : move(view.state, view.state.selection.main.head, direction);
  if (change) view.dispatch(change);
  return true;
}

const keys = (shown: StateField<Shown>): readonly KeyBinding[] => [
  { key: 'Enter', run: breakBlock, shift: breakLine },
  { key: 'Backspace', run: deleteBackward(shown) },
  { key: 'Delete', run: deleteForward(shown) },
  { key: 'ArrowDown', run: passGap(true) },
  { key: 'ArrowUp', run: passGap(false) },
  { key: 'Alt-ArrowUp', run: (view) => moveBlock(view, -1) },
  { key: 'Alt-ArrowDown', run: (view) => moveBlock(view, 1) },
  { key: 'Mod-/', run: toggleMarkdown },
];

/**
 * @param inserts what the menu of `/` offers beside blocks of text
 * @param isWhole all of the text is shown, where blocks can be dragged
 */
export function visual(place: MarkdownPlace, inserts: Inserts, isWhole = true): Extension {
  const shown = shownBy(widgetsFor(place));
  return [
    revealed,
    shown,
    gaps,
    keepMarks(shown),
    placeTyped(shown),
    Prec.high(keymap.of(keys(shown))),
    slashMenu(inserts),
    linkCard(inserts.image),
    isWhole ? handle : [],
    look,
  ];
}

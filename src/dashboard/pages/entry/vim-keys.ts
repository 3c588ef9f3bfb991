/** Keys of Vim for the source, loaded for accounts that have chosen them. `:w` saves, as Ctrl+S does. */
import { type Extension, Facet } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { Vim, vim } from '@replit/codemirror-vim';

const saving = Facet.define<() => void>();

// Commands are the package's, one list for all editors: which one is saved is known by the editor it was typed in.
Vim.defineEx('write', 'w', (of: { cm6: EditorView }) => {
  for (const save of of.cm6.state.facet(saving)) save();
});

const look = EditorView.theme({
  '&.cm-editor.cm-focused .cm-fat-cursor': { background: 'var(--p-accent)', color: 'var(--p-paper)' },
  '&.cm-editor:not(.cm-focused) .cm-fat-cursor': { outlineColor: 'var(--p-accent)' },
  '.cm-vim-panel': { padding: '4px 12px', minHeight: '28px', fontFamily: 'inherit', fontSize: '0.8125rem' },
  '.cm-vim-panel input': { color: 'inherit', font: 'inherit' },
});

/** Stands before all other keys. @param save what `:w` does */
export function vimKeys(save: () => void): Extension {
  return [
    vim({ status: true }),
    saving.of(save),
    look,
    // Vim takes Escape for itself; the next Tab still leaves the editor.
    EditorView.domEventObservers({
      keydown: (event, view) => {
        if (event.key === 'Escape') view.setTabFocusMode(2_000);
      },
    }),
  ];
}

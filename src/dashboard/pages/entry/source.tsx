/** The body of an entry, or a whole file, as source. CodeMirror holds the text; React sees none of its key presses. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { indentOnInput } from '@codemirror/language';
import { diff } from '@codemirror/merge';
import { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension, Transaction } from '@codemirror/state';
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { nonce } from '../../lib/nonce.ts';
import { useKeySet } from '../../lib/preferences.ts';
import { codeColours, markUnseen } from '../../parts/code-look.ts';
import { bodyLanguage } from './body-language.ts';
import type { Editor } from './editor.ts';
import type { Edit } from './rebase.ts';
import { type SiteSnippet, snippetCompletion } from './snippets.ts';

const look = EditorView.theme({
  '&': { height: '100%', fontSize: '0.875rem', color: 'var(--p-ink)' },
  '&.cm-focused': { outline: '2px solid var(--p-accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: '1.6' },
  '.cm-content': { padding: '16px 0', caretColor: 'var(--p-ink)' },
  '.cm-line': { unicodeBidi: 'plaintext' },
  '.cm-cursor': { borderLeftColor: 'var(--p-ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'color-mix(in srgb, var(--p-accent) 24%, transparent)',
  },
  '.cm-searchMatch': { background: 'var(--p-warn-wash)', outline: '1px solid var(--p-warn)' },
  '.cm-searchMatch-selected': { background: 'var(--p-wash)', outline: '2px solid var(--p-accent)' },
  '.cm-selectionMatch': { background: 'var(--p-wash)' },
  '.cm-panels': { background: 'var(--p-sunk)', color: 'var(--p-ink)', borderColor: 'var(--p-line)' },
  '.cm-panel.cm-search': { padding: '8px 12px', fontSize: '0.8125rem' },
  '.cm-panel.cm-search input, .cm-panel.cm-search button': { fontSize: '0.8125rem', minHeight: '28px' },
  '.cm-textfield': { background: 'var(--p-raised)', border: '1px solid var(--p-strong-line)', borderRadius: '4px' },
  '.cm-button': {
    background: 'var(--p-raised)',
    backgroundImage: 'none',
    border: '1px solid var(--p-line)',
    borderRadius: '4px',
  },
  '.cm-specialChar': { color: 'var(--p-bad)' },
});
const proseLook = EditorView.theme({
  '.cm-content': { maxWidth: '80ch', margin: '0 auto' },
  '.cm-line': { padding: '0 20px' },
});
const codeLook = EditorView.theme({
  '&': { fontSize: '0.8125rem' },
  '.cm-gutters': { background: 'var(--p-sunk)', borderInlineEnd: '1px solid var(--p-line)', color: 'var(--p-soft)' },
});

/** Texts of CodeMirror's own panel. */
const ownPhrases = [
  'Find',
  'Replace',
  'next',
  'previous',
  'all',
  'match case',
  'by word',
  'regexp',
  'replace',
  'replace all',
  'close',
];

export interface SourceProps {
  editor: Editor;
  /** Text with the look of prose, or code in a language of its own. */
  language: 'markdown' | 'yaml' | Extension;
  label: string;
  /** Id of the element that says how to leave the editor by keyboard. */
  describedBy: string;
  onSave: () => void;
  /** What is laid over the text: another look, and other keys. */
  look?: Extension | null;
  /** What the site has beside Markdown, offered while one types; absent: nothing is. */
  loadSnippets?: (() => Promise<readonly SiteSnippet[]>) | undefined;
  /** Files that are pasted or dropped; absent: what the browser makes of them. */
  onFiles?: (view: EditorView, files: File[], at: number) => void;
  /** Gives the view out, for buttons beside it; null when it goes. */
  onView: (view: EditorView | null) => void;
}

/** Milliseconds after which two texts are compared less closely. */
const mostForDifferences = 300;

const filesIn = (data: DataTransfer | null) => [...(data?.files ?? [])];

function extensions(
  { editor, language, label, describedBy, onFiles, loadSnippets }: SourceProps,
  phrases: Record<string, string>,
  keys: Extension,
): Extension[] {
  const isCode = typeof language !== 'string';
  return [
    // Before all others.
    keys,
    EditorView.cspNonce.of(nonce),
    // What ends no line stays a character of the text, so that it is saved as it was.
    EditorState.lineSeparator.of('\n'),
    EditorState.phrases.of(phrases),
    history(),
    drawSelection(),
    markUnseen,
    indentOnInput(),
    codeColours,
    language === 'markdown' ? bodyLanguage : isCode ? language : yaml(),
    isCode ? [lineNumbers(), codeLook] : proseLook,
    search({ top: true }),
    highlightSelectionMatches({ minSelectionLength: 3, maxMatches: 200 }),
    loadSnippets ? snippetCompletion(loadSnippets) : [],
    keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, indentWithTab]),
    EditorView.lineWrapping,
    EditorView.perLineTextDirection.of(true),
    EditorView.contentAttributes.of({
      'aria-label': label,
      'aria-describedby': describedBy,
      tabindex: '0',
      spellcheck: language === 'markdown' ? 'true' : 'false',
      autocorrect: isCode ? 'off' : 'on',
      autocapitalize: isCode ? 'off' : 'sentences',
    }),
    look,
    EditorView.updateListener.of((update) => {
      if (update.docChanged) editor.textChanged();
    }),
    EditorView.domEventHandlers({
      paste: (event, view) => {
        const files = filesIn(event.clipboardData);
        if (files.length === 0 || !onFiles) return false;
        event.preventDefault();
        onFiles(view, files, view.state.selection.main.head);
        return true;
      },
      drop: (event, view) => {
        const files = filesIn(event.dataTransfer);
        if (files.length === 0 || !onFiles) return false;
        event.preventDefault();
        onFiles(view, files, view.posAtCoords({ x: event.clientX, y: event.clientY }) ?? view.state.doc.length);
        return true;
      },
    }),
  ];
}

export function openFind(view: EditorView): void {
  openSearchPanel(view);
}

const plainKeys: Extension = [];

/** The account's own keys, which are there before the editor is: none of them is taken for text. @returns null while they are loaded */
function useKeys(save: () => void): Extension | null {
  const keySet = useKeySet();
  const [keys, setKeys] = useState<Extension | null>(keySet === 'plain' ? plainKeys : null);
  useEffect(() => {
    if (keySet === 'plain') return setKeys(plainKeys);
    let isOver = false;
    // Without them one still writes.
    import('./vim-keys.ts').then(
      ({ vimKeys }) => isOver || setKeys(vimKeys(save)),
      () => isOver || setKeys(plainKeys),
    );
    return () => {
      isOver = true;
    };
  }, [keySet, save]);
  return keys;
}

const over = new Compartment();

/** The editor itself. It is made anew only for another entry. */
export function Source(props: SourceProps) {
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const { editor, language } = props;
  const keys = useKeys(useCallback(() => latest.current.onSave(), []));
  const { t } = useTranslation('entry');
  const phrases = Object.fromEntries(ownPhrases.map((phrase) => [phrase, t(`cm_${phrase}` as 'cm_Find')]));
  useEffect(() => {
    const parent = place.current;
    if (!parent || keys === null) return;
    const lock = new Compartment();
    const locked = () => {
      const { isLocked } = editor.state();
      return [EditorState.readOnly.of(isLocked), EditorView.editable.of(!isLocked)];
    };
    const view = new EditorView({
      parent,
      state: EditorState.create({
        doc: editor.text,
        extensions: [
          lock.of(locked()),
          over.of(latest.current.look ?? []),
          extensions(
            {
              ...latest.current,
              ...(latest.current.onFiles && { onFiles: (...given) => latest.current.onFiles?.(...given) }),
            },
            phrases,
            keys,
          ),
        ],
      }),
    });
    const apply = (edits: readonly Edit[]) =>
      view.dispatch({
        changes: edits.map(({ from, to, insert }) => ({ from, to, insert })),
        annotations: Transaction.addToHistory.of(false),
      });
    const detach = editor.attach({
      read: () => view.state.doc.toString(),
      apply,
      replace: (text) =>
        apply(
          diff(view.state.doc.toString(), text, { timeout: mostForDifferences }).map(({ fromA, toA, fromB, toB }) => ({
            from: fromA,
            to: toA,
            insert: text.slice(fromB, toB),
          })),
        ),
    });
    let wasLocked = editor.state().isLocked;
    const stop = editor.subscribe(() => {
      const { isLocked } = editor.state();
      if (isLocked === wasLocked) return;
      wasLocked = isLocked;
      view.dispatch({ effects: lock.reconfigure(locked()) });
    });
    shown.current = view;
    latest.current.onView(view);
    return () => {
      shown.current = null;
      latest.current.onView(null);
      stop();
      detach();
      view.destroy();
    };
  }, [editor, language, keys]);
  const { look } = props;
  useEffect(() => shown.current?.dispatch({ effects: over.reconfigure(look ?? []) }), [look]);
  return <div ref={place} style={{ height: '100%' }} />;
}

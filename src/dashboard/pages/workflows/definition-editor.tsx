/** The definition of a workflow as YAML, judged by the server as one types. */
import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { search, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { UnstyledButton } from '@mantine/core';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type DefinitionFaultPartsFragment, ValidateWorkflow } from '../../documents.ts';
import { client } from '../../lib/client.ts';
import { nonce } from '../../lib/nonce.ts';
import { usePlace } from '../../lib/place.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import classes from './definition-editor.module.css';

const look = EditorView.theme({
  '&': {
    backgroundColor: 'var(--p-raised)',
    border: '1px solid var(--p-strong-line)',
    borderRadius: '6px',
    color: 'var(--p-ink)',
    fontSize: '0.8125rem',
  },
  '&.cm-focused': { outline: '2px solid var(--p-accent)', outlineOffset: '1px' },
  '.cm-scroller': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    lineHeight: '1.6',
    overflow: 'auto',
  },
  '.cm-content, .cm-gutter': { minHeight: '320px' },
  '.cm-content': { caretColor: 'var(--p-ink)', padding: '12px 0' },
  '.cm-gutters': {
    backgroundColor: 'var(--p-sunk)',
    borderInlineEnd: '1px solid var(--p-line)',
    borderRadius: '5px 0 0 5px',
    color: 'var(--p-soft)',
  },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--p-wash) 50%, transparent)' },
  '.cm-cursor': { borderLeftColor: 'var(--p-ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'color-mix(in srgb, var(--p-accent) 24%, transparent)',
  },
  '.cm-tooltip, .cm-panels': {
    backgroundColor: 'var(--p-raised)',
    borderColor: 'var(--p-line)',
    color: 'var(--p-ink)',
  },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--p-accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--p-good)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--p-warn)' },
  { tag: [tags.comment, tags.meta], color: 'var(--p-soft)' },
]);

/** Milliseconds after the last key press. */
const judgedAfter = 300;

interface Found extends DefinitionFaultPartsFragment {
  severity: 'error' | 'warning';
}

const positionOf = ({ doc }: EditorState, { line, column }: Found): number => {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(at.from + Math.max(column - 1, 0), at.to);
};

function diagnosticsOf(state: EditorState, found: readonly Found[]): Diagnostic[] {
  return found
    .map((fault): Diagnostic => {
      const from = positionOf(state, fault);
      return { from, to: state.doc.lineAt(from).to, severity: fault.severity, message: fault.message };
    })
    .sort((a, b) => a.from - b.from);
}

interface DefinitionEditorProps {
  label: string;
  /** What is edited; another text replaces what is there, and can be undone. */
  text: string;
  onChange: (text: string) => void;
  isReadOnly?: boolean;
  /** The workflow whose secrets the definition may name. */
  workflow?: string;
  /** Ctrl+S. */
  onSave?: () => void;
}

export function DefinitionEditor({
  label,
  text,
  onChange,
  isReadOnly = false,
  workflow,
  onSave,
}: DefinitionEditorProps) {
  const { t } = useTranslation('workflows');
  const { organization, project } = usePlace();
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const [found, setFound] = useState<readonly Found[] | null>(null);
  const change = useEffectEvent(onChange);
  const save = useEffectEvent(() => onSave?.());
  const first = useEffectEvent(() => text);

  useEffect(() => {
    if (!place.current) return;
    const extensions: Extension[] = [
      EditorView.cspNonce.of(nonce),
      lineNumbers(),
      lintGutter(),
      history(),
      drawSelection(),
      highlightActiveLine(),
      indentOnInput(),
      yaml(),
      syntaxHighlighting(colours),
      search({ top: true }),
      keymap.of([
        {
          key: 'Mod-s',
          preventDefault: true,
          run: () => {
            save();
            return true;
          },
        },
        indentWithTab,
        ...defaultKeymap,
        ...historyKeymap,
        ...searchKeymap,
      ]),
      EditorState.readOnly.of(isReadOnly),
      EditorView.contentAttributes.of({ 'aria-label': label, 'aria-description': t('leave_editor'), tabindex: '0' }),
      look,
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged) change(state.doc.toString());
      }),
    ];
    const made = new EditorView({ parent: place.current, state: EditorState.create({ doc: first(), extensions }) });
    view.current = made;
    return () => {
      view.current = null;
      made.destroy();
    };
  }, [label, isReadOnly, t]);

  useEffect(() => {
    const shown = view.current;
    if (!shown || shown.state.doc.toString() === text) return;
    const changes = { from: 0, to: shown.state.doc.length, insert: text };
    shown.dispatch({ changes, annotations: isolateHistory.of('full') });
  }, [text]);

  useEffect(() => {
    if (text.trim() === '') return setFound(null);
    let isCurrent = true;
    const judge = async () => {
      const variables = { organization, project, definition: text, workflow: workflow ?? null };
      const { data } = await client.query(ValidateWorkflow, variables, { requestPolicy: 'network-only' }).toPromise();
      const verdict = data?.project?.validate_workflow;
      if (!isCurrent || !verdict) return;
      const faults = [
        ...verdict.errors.map((fault): Found => ({ ...fault, severity: 'error' })),
        ...verdict.warnings.map((fault): Found => ({ ...fault, severity: 'warning' })),
      ];
      setFound(faults);
      const { current } = view;
      if (current?.state.doc.toString() === text)
        current.dispatch(setDiagnostics(current.state, diagnosticsOf(current.state, faults)));
    };
    const timer = setTimeout(judge, judgedAfter);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text, organization, project, workflow]);

  const goTo = (fault: Found) => {
    const { current } = view;
    if (!current) return;
    current.dispatch({ selection: { anchor: positionOf(current.state, fault) }, scrollIntoView: true });
    current.focus();
  };
  const errors = found?.filter(({ severity }) => severity === 'error').length ?? 0;
  return (
    <div>
      <div ref={place} />
      <div className={classes.verdict} role="status">
        {found && errors === 0 && <StateMark tone="good">{t('definition_valid')}</StateMark>}
        {errors > 0 && <StateMark tone="bad">{t('definition_faults', { count: errors })}</StateMark>}
      </div>
      {found && found.length > 0 && (
        <ul className={classes.faults} aria-label={t('faults_list')}>
          {found.map((fault) => (
            <li key={`${fault.severity} ${fault.line} ${fault.column} ${fault.message}`}>
              <UnstyledButton className={classes.fault} data-severity={fault.severity} onClick={() => goTo(fault)}>
                <span className={classes.where}>{t('at_line', { line: fault.line, column: fault.column })}</span>
                <span>
                  {fault.severity === 'warning' && `${t('warning')}: `}
                  {fault.message}
                </span>
              </UnstyledButton>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Text of a file with line numbers and colours, to be read. */
import { openSearchPanel, search, searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { Button } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { FileBlame } from '../../documents.ts';
import { client } from '../../lib/client.ts';
import { type Fault, faultOf } from '../../lib/faults.ts';
import { useFormats } from '../../lib/format.ts';
import { nonce } from '../../lib/nonce.ts';
import type { Place } from '../../lib/place.ts';
import { codeColours, markUnseen } from '../../parts/code-look.ts';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { languageOf } from './code-languages.ts';
import classes from './files.module.css';
import { chunkLines, type LineRange, lastChanges } from './last-changes.ts';

const look = EditorView.theme({
  '&': { background: 'var(--p-raised)', color: 'var(--p-ink)', fontSize: '0.8125rem' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: '1.6' },
  '.cm-gutters': {
    background: 'var(--p-sunk)',
    borderInlineEnd: '1px solid var(--p-line)',
    color: 'var(--p-soft)',
  },
  '.cm-lastChanges': {
    fontFamily: 'var(--mantine-font-family)',
    fontSize: '0.75rem',
    minWidth: '14em',
    maxWidth: '14em',
  },
  '.cm-lastChanges .cm-gutterElement': {
    overflow: 'hidden',
    paddingInline: '8px',
    textOverflow: 'ellipsis',
    unicodeBidi: 'plaintext',
    whiteSpace: 'nowrap',
  },
  '@media (max-width: 600px)': { '.cm-lastChanges': { display: 'none !important' } },
  '.cm-line': { unicodeBidi: 'plaintext' },
  '.cm-searchMatch': { background: 'var(--p-warn-wash)', outline: '1px solid var(--p-warn)' },
  '.cm-searchMatch-selected': { background: 'var(--p-wash)', outline: '2px solid var(--p-accent)' },
  '.cm-panels': { background: 'var(--p-sunk)', color: 'var(--p-ink)', borderColor: 'var(--p-line)' },
  '.cm-specialChar': { color: 'var(--p-bad)' },
});

interface CodeProps {
  place: Place;
  /** Commit at which it is read; undefined: as it is now. */
  version: string | undefined;
  path: string;
  text: string;
  name: string;
}

const shownAlways = 'portico.last-changes';

export function Code({ place, version, path, text, name }: CodeProps) {
  const { t } = useTranslation('files');
  const { ago, date } = useFormats();
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const [isShown, setShown] = useLocalStorage({
    key: shownAlways,
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  const [fault, setFault] = useState<Fault | null>(null);
  const [isComplete, setComplete] = useState(true);
  const [line, setLine] = useState<{ change: LineRange | null; number: number } | null>(null);
  const { organization, project, draft } = place;
  const load = async (first: number): Promise<readonly LineRange[]> => {
    const at = version === undefined ? { branch: draft ?? null, ref: null } : { branch: null, ref: version };
    const variables = { organization, project, ...at, path, first, lines: chunkLines };
    const { data, error } = await client.query(FileBlame, variables, { requestPolicy: 'network-only' }).toPromise();
    const blame = data?.project?.studio?.file?.blame;
    if (error) setFault(faultOf(error));
    if (blame && !blame.complete) setComplete(false);
    return blame?.ranges ?? [];
  };
  const extension = useEffectEvent(() =>
    lastChanges({
      load,
      describe: ({ commit: { author } }) => `${author.name} · ${date(author.date)}`,
      onLine: (change, number) => setLine({ change, number }),
    }),
  );
  useEffect(() => {
    setFault(null);
    setComplete(true);
    setLine(null);
    const made = new EditorView({
      parent: parent.current as HTMLElement,
      doc: text,
      extensions: [
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ 'aria-label': name, 'aria-readonly': 'true' }),
        isShown ? extension() : [],
        lineNumbers(),
        markUnseen,
        codeColours,
        look,
        EditorView.cspNonce.of(nonce),
        search({ top: true }),
        keymap.of(searchKeymap),
        EditorView.lineWrapping,
        EditorView.perLineTextDirection.of(true),
        languageOf(name),
      ],
    });
    view.current = made;
    return () => made.destroy();
  }, [text, name, isShown]);
  const change = line?.change;
  return (
    <>
      <div className={classes.find}>
        <Button
          size="compact-sm"
          variant={isShown ? 'light' : 'subtle'}
          aria-pressed={isShown}
          onClick={() => setShown(!isShown)}
        >
          {t('last_changes')}
        </Button>
        <Button size="compact-sm" variant="subtle" onClick={() => view.current && openSearchPanel(view.current)}>
          {t('find')}
        </Button>
      </div>
      <FaultAlert fault={fault} />
      <div ref={parent} className={classes.code} />
      {isShown && (
        <div className={classes.line} role="status">
          {!isComplete && <p>{t('last_changes_incomplete')}</p>}
          {line && (
            <p>
              {t('line', { number: line.number })}{' '}
              {change ? (
                <>
                  <bdi>{change.commit.author.name}</bdi> · {ago(change.commit.author.date)} ·{' '}
                  <Link to="." search={(before) => ({ ...before, edit: undefined, version: change.commit.sha })}>
                    <MarkedText text={change.commit.title || change.commit.sha.slice(0, 10)} />
                  </Link>
                </>
              ) : (
                t('line_unknown')
              )}
            </p>
          )}
        </div>
      )}
    </>
  );
}

/** Text of a file with line numbers and colours, to be read. */
import { css } from '@codemirror/lang-css';
import { html } from '@codemirror/lang-html';
import { javascript } from '@codemirror/lang-javascript';
import { markdown } from '@codemirror/lang-markdown';
import { yaml, yamlFrontmatter } from '@codemirror/lang-yaml';
import { openSearchPanel, search, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { Button } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { nonce } from '../../lib/nonce.ts';
import { codeColours, markUnseen } from '../../parts/code-look.ts';
import classes from './files.module.css';

/** By the ending of the name; others have no colours. */
const languages: Record<string, () => Extension> = {
  css,
  scss: css,
  html: () => html(),
  htm: () => html(),
  astro: () => html(),
  vue: () => html(),
  svelte: () => html(),
  svg: () => html(),
  xml: () => html(),
  js: () => javascript(),
  mjs: () => javascript(),
  cjs: () => javascript(),
  json: () => javascript(),
  jsx: () => javascript({ jsx: true }),
  ts: () => javascript({ typescript: true }),
  mts: () => javascript({ typescript: true }),
  tsx: () => javascript({ jsx: true, typescript: true }),
  md: () => yamlFrontmatter({ content: markdown() }),
  mdx: () => yamlFrontmatter({ content: markdown() }),
  markdown: () => yamlFrontmatter({ content: markdown() }),
  yaml,
  yml: yaml,
};

const look = EditorView.theme({
  '&': { background: 'var(--p-raised)', color: 'var(--p-ink)', fontSize: '0.8125rem' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: '1.6' },
  '.cm-gutters': {
    background: 'var(--p-sunk)',
    borderInlineEnd: '1px solid var(--p-line)',
    color: 'var(--p-soft)',
  },
  '.cm-line': { unicodeBidi: 'plaintext' },
  '.cm-searchMatch': { background: 'var(--p-warn-wash)', outline: '1px solid var(--p-warn)' },
  '.cm-searchMatch-selected': { background: 'var(--p-wash)', outline: '2px solid var(--p-accent)' },
  '.cm-panels': { background: 'var(--p-sunk)', color: 'var(--p-ink)', borderColor: 'var(--p-line)' },
  '.cm-specialChar': { color: 'var(--p-bad)' },
});

export function Code({ text, name }: { text: string; name: string }) {
  const { t } = useTranslation('files');
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  useEffect(() => {
    const language = languages[name.slice(name.lastIndexOf('.') + 1).toLowerCase()];
    const made = new EditorView({
      parent: place.current as HTMLElement,
      doc: text,
      extensions: [
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ 'aria-label': name, 'aria-readonly': 'true' }),
        lineNumbers(),
        markUnseen,
        codeColours,
        look,
        EditorView.cspNonce.of(nonce),
        search({ top: true }),
        keymap.of(searchKeymap),
        EditorView.lineWrapping,
        EditorView.perLineTextDirection.of(true),
        language?.() ?? [],
      ],
    });
    view.current = made;
    return () => made.destroy();
  }, [text, name]);
  return (
    <>
      <div className={classes.find}>
        <Button size="compact-sm" variant="subtle" onClick={() => view.current && openSearchPanel(view.current)}>
          {t('find')}
        </Button>
      </div>
      <div ref={place} className={classes.code} />
    </>
  );
}

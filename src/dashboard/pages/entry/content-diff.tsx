/** What differs between two versions of an entry: its fields by name, its text by line. */
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView, highlightSpecialChars } from '@codemirror/view';
import { Stack, Text } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { stringify } from 'yaml';
import { fieldLabel } from '../../../lib/field-label.ts';
import { valueAt } from '../../../lib/json-pointer.ts';
import { nonce } from '../../lib/nonce.ts';
import classes from './content-diff.module.css';
import { type Content, changedFields } from './rebase.ts';

/** A value as a person reads it: text as it is, all else as YAML. */
const asText = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : stringify(value, { lineWidth: 0 }).trimEnd();
};

const look = EditorView.theme({
  '&': { color: 'var(--p-ink)', fontSize: '0.8125rem', maxHeight: '50vh' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', overflow: 'auto' },
  '.cm-line': { unicodeBidi: 'plaintext' },
  '.cm-changedLine': { background: 'var(--p-good-wash) !important' },
  '.cm-deletedChunk': { background: 'var(--p-bad-wash) !important' },
  '.cm-changedText': { background: 'none !important', borderBottom: '2px solid var(--p-good)' },
  '.cm-deletedText, .cm-deletedLine del': { background: 'none !important', textDecoration: 'line-through' },
  '.cm-collapsedLines': { background: 'var(--p-sunk)', color: 'var(--p-soft)', padding: '2px 12px' },
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: '""' },
  '.cm-changedLineGutter': { background: 'var(--p-good)' },
  '.cm-deletedLineGutter': { background: 'var(--p-bad)' },
});

/** Lines that went and came, with what stays around them folded away. */
function TextDiff({ before, after, label }: { before: string; after: string; label: string }) {
  const { t } = useTranslation('entry');
  const unchanged = t('unchanged_lines');
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = place.current;
    if (!parent) return;
    const view = new EditorView({
      parent,
      state: EditorState.create({
        doc: after,
        extensions: [
          EditorView.cspNonce.of(nonce),
          EditorState.lineSeparator.of('\n'),
          EditorState.readOnly.of(true),
          EditorState.phrases.of({ '$ unchanged lines': unchanged }),
          EditorView.editable.of(false),
          EditorView.lineWrapping,
          EditorView.perLineTextDirection.of(true),
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          highlightSpecialChars({ addSpecialChars: /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g }),
          unifiedMergeView({
            original: before,
            mergeControls: false,
            gutter: true,
            collapseUnchanged: { margin: 2, minSize: 6 },
            diffConfig: { scanLimit: 1000, timeout: 500 },
          }),
          look,
        ],
      }),
    });
    return () => view.destroy();
  }, [before, after, label, unchanged]);
  return <div ref={place} className={classes.text} />;
}

interface ContentDiffProps {
  before: Content;
  after: Content;
  /** JSON Schema of the collection, for the labels of its fields. */
  schema: unknown;
}

export function ContentDiff({ before, after, schema }: ContentDiffProps) {
  const { t } = useTranslation('entry');
  const pointers = changedFields(before.fields, after.fields);
  const [old, now] = [before.raw ?? before.body, after.raw ?? after.body];
  if (pointers.length === 0 && old === now) return <Text c="dimmed">{t('no_difference')}</Text>;
  return (
    <Stack gap="md">
      {pointers.length > 0 && (
        <dl className={classes.fields}>
          {pointers.map((pointer) => {
            const [was, is] = [valueAt(before.fields, pointer), valueAt(after.fields, pointer)];
            return (
              <div key={pointer} className={classes.field}>
                <dt title={pointer}>{fieldLabel(schema, pointer)}</dt>
                <dd>
                  {was !== undefined && (
                    <del dir="auto">
                      <span className="unseen">{t('before')}</span>
                      {asText(was) || '“”'}
                    </del>
                  )}
                  {is !== undefined && (
                    <ins dir="auto">
                      <span className="unseen">{t('after')}</span>
                      {asText(is) || '“”'}
                    </ins>
                  )}
                </dd>
              </div>
            );
          })}
        </dl>
      )}
      {old !== now && <TextDiff before={old} after={now} label={t('text_changes')} />}
    </Stack>
  );
}

/** The entry's text: as source, or as source with its preview beside it, and buttons for what is often written. */
import { ActionIcon, Group, SegmentedControl, Tooltip } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconBold, IconItalic, IconLink, IconPhoto, IconSearch } from '@tabler/icons-react';
import { lazy, type ReactNode, Suspense, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type FormPlace, FormProvider } from '../../fields/form.tsx';
import { FieldView } from '../../fields/registry.tsx';
import { directoryOf, linkTo } from '../../lib/media.ts';
import { Waiting } from '../../shell/states.tsx';
import type { Editor } from './editor.ts';
import classes from './entry.module.css';

type View = import('@codemirror/view').EditorView;

const Source = lazy(async () => ({ default: (await import('./source.tsx')).Source }));
const Preview = lazy(async () => ({ default: (await import('./preview.tsx')).Preview }));
const LinkPicker = lazy(async () => ({ default: (await import('./link-picker.tsx')).LinkPicker }));
const MediaPicker = lazy(async () => ({ default: (await import('../../fields/media-picker.tsx')).MediaPicker }));

interface BodyProps {
  editor: Editor;
  place: FormPlace;
  /** The whole file is edited, not what stands below the frontmatter. */
  isRaw: boolean;
  language: 'markdown' | 'yaml';
  onSave: () => void;
}

/** Puts marks around what is selected, or takes them away where they are. */
function toggle(view: View, mark: string): void {
  const { from, to } = view.state.selection.main;
  const text = view.state.sliceDoc(from, to);
  const isMarked = text.length >= 2 * mark.length && text.startsWith(mark) && text.endsWith(mark);
  const insert = isMarked ? text.slice(mark.length, -mark.length) : `${mark}${text}${mark}`;
  const start = isMarked ? from : from + mark.length;
  const length = isMarked ? insert.length : text.length;
  view.dispatch({ changes: { from, to, insert }, selection: { anchor: start, head: start + length } });
  view.focus();
}

function insert(view: View, text: string): void {
  view.dispatch(view.state.replaceSelection(text));
  view.focus();
}

const plainLabel = (text: string) => text.replace(/[[\]\\]/g, '\\$&');
/** A link's target as CommonMark reads it. */
const target = (address: string) =>
  /[\s()<>]/.test(address) ? `<${address.replace(/[<>]/g, encodeURIComponent)}>` : address;

/** Files that were pasted or dropped: each is stored, and its link takes the place that was kept for it. */
function useUploads(place: FormPlace, nearest: () => string | null) {
  const { t } = useTranslation(['entry', 'common']);
  const count = useRef(0);
  return async (view: View, files: File[], at: number) => {
    for (const file of files) {
      count.current += 1;
      const name = plainLabel(file.name.replace(/\.[^.]+$/, ''));
      const isImage = file.type.startsWith('image/');
      const holder = `${isImage ? '!' : ''}[${t('common:uploading', { name })} ${count.current}]()`;
      view.dispatch({ changes: { from: Math.min(at, view.state.doc.length), insert: `${holder}\n` } });
      const settle = (text: string) => {
        const from = view.state.doc.toString().indexOf(holder);
        if (from >= 0) view.dispatch({ changes: { from, to: from + holder.length, insert: text } });
      };
      try {
        const stored = await place.upload(file, nearest() ?? '');
        settle(stored ? `${isImage ? '!' : ''}[${name}](${target(linkTo(place, stored))})` : '');
      } catch (error) {
        settle('');
        notifications.show({
          color: 'red',
          title: t('upload_failed', { name: file.name }),
          message: (error as Error).message,
        });
      }
    }
  };
}

export function Body({ editor, place, isRaw, language, onSave }: BodyProps) {
  const { t } = useTranslation(['entry', 'common']);
  const [mode, setMode] = useState<'source' | 'split'>('source');
  const [picking, setPicking] = useState<'link' | 'image' | null>(null);
  const view = useRef<View | null>(null);
  const hint = useId();
  const isMarkdown = language === 'markdown' && !isRaw;
  const nearest = () => {
    const [, link] = /!\[[^[\]]*\]\((?!https?:)([^()\s]+)\)/.exec(editor.text) ?? [];
    return link !== undefined && place.path !== null && !link.startsWith('/')
      ? directoryOf(new URL(link, `http://x/${place.path}`).pathname.slice(1))
      : place.mediaPath;
  };
  const onFiles = useUploads(place, nearest);
  const withView = (act: (view: View) => void) => () => view.current && act(view.current);
  const button = (label: string, icon: ReactNode, act: () => void) => (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={act}>
        {icon}
      </ActionIcon>
    </Tooltip>
  );
  const source = (
    <Source
      editor={editor}
      language={isRaw ? 'yaml' : language}
      label={t(isRaw ? 'whole_file' : 'text')}
      describedBy={hint}
      onFiles={onFiles}
      onSave={onSave}
      onView={(next) => {
        view.current = next;
      }}
    />
  );
  const form = { store: editor, place, FieldView };
  return (
    <FormProvider value={form}>
      <div className={classes.bodyBar}>
        {isMarkdown && (
          <SegmentedControl
            size="xs"
            value={mode}
            onChange={(next) => setMode(next as 'source' | 'split')}
            data={[
              { value: 'source', label: t('source') },
              { value: 'split', label: t('split') },
            ]}
            aria-label={t('view')}
          />
        )}
        <Group gap={2} role="toolbar" aria-label={t('tools')}>
          {isMarkdown && (
            <>
              {button(
                t('bold'),
                <IconBold size={16} />,
                withView((one) => toggle(one, '**')),
              )}
              {button(
                t('italic'),
                <IconItalic size={16} />,
                withView((one) => toggle(one, '*')),
              )}
              {button(t('link_entry'), <IconLink size={16} />, () => setPicking('link'))}
              {button(t('insert_image'), <IconPhoto size={16} />, () => setPicking('image'))}
            </>
          )}
          {button(
            t('find'),
            <IconSearch size={16} />,
            withView(async (one) => (await import('./source.tsx')).openFind(one)),
          )}
        </Group>
        <span id={hint} className="unseen">
          {t('leave_hint')}
        </span>
      </div>
      <div className={classes.bodyText} data-mode={isMarkdown ? mode : 'source'}>
        <Suspense fallback={<Waiting />}>
          <div className={classes.source}>{source}</div>
          {mode === 'split' && isMarkdown && <Preview editor={editor} place={place} view={view} />}
        </Suspense>
      </div>
      <Suspense>
        {picking === 'link' && (
          <LinkPicker
            onClose={() => setPicking(null)}
            onTake={(title, address) => {
              setPicking(null);
              withView((one) => {
                const { from, to } = one.state.selection.main;
                insert(one, `[${from === to ? plainLabel(title) : one.state.sliceDoc(from, to)}](${target(address)})`);
              })();
            }}
          />
        )}
        {picking === 'image' && (
          <MediaPicker
            isImage
            directory={nearest()}
            onClose={() => setPicking(null)}
            onTake={(file) => {
              setPicking(null);
              const name = file.path.slice(file.path.lastIndexOf('/') + 1).replace(/\.[^.]+$/, '');
              withView((one) => insert(one, `![${plainLabel(name)}](${target(linkTo(place, file))})`))();
            }}
          />
        )}
      </Suspense>
    </FormProvider>
  );
}

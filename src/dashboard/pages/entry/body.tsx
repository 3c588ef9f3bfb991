/** The entry's text: as it reads, as source, or as source with its preview beside it, and buttons for what is often written. */
import { ActionIcon, Group, SegmentedControl, Tooltip } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconBold, IconItalic, IconLink, IconPhoto, IconSearch, IconSparkles } from '@tabler/icons-react';
import {
  type CSSProperties,
  lazy,
  type ReactNode,
  Suspense,
  useCallback,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { useTranslation } from 'react-i18next';
import { EntrySnippets } from '../../documents.ts';
import { type FormPlace, FormProvider } from '../../fields/form.tsx';
import { FieldView } from '../../fields/registry.tsx';
import { client } from '../../lib/client.ts';
import { linkLabel, linkTarget, pictureLabel } from '../../lib/markdown-text.ts';
import { assetFolderOf, imageIn, linkTo } from '../../lib/media.ts';
import { useBodyMode } from '../../lib/preferences.ts';
import { uploadDirectory } from '../../lib/upload.ts';
import { Waiting } from '../../shell/states.tsx';
import type { Editor } from './editor.ts';
import classes from './entry.module.css';
import { InsertMenu } from './insert-menu.tsx';
import type { PageHandle } from './page/page-frame.tsx';

type View = import('@codemirror/view').EditorView;
type Extension = import('@codemirror/state').Extension;

const Ask = lazy(async () => ({ default: (await import('./ask.tsx')).Ask }));
const Source = lazy(async () => ({ default: (await import('./source.tsx')).Source }));
const BlockMenu = lazy(async () => ({ default: (await import('./visual/block-menu.tsx')).BlockMenu }));
const PageFrame = lazy(async () => ({ default: (await import('./page/page-frame.tsx')).PageFrame }));
const Preview = lazy(async () => ({ default: (await import('./preview.tsx')).Preview }));
const LinkPicker = lazy(async () => ({ default: (await import('./link-picker.tsx')).LinkPicker }));
const MediaPicker = lazy(async () => ({ default: (await import('../../fields/media-picker.tsx')).MediaPicker }));

interface BodyProps {
  editor: Editor;
  place: FormPlace;
  /** The whole file is edited, not what stands below the frontmatter. */
  isRaw: boolean;
  language: 'markdown' | 'yaml';
  /** The entry as a page of its site; null: it is none yet, or may not be edited there. */
  page: { slug: string; url: string | null } | null;
  onSave: () => void;
}

function insert(view: View, text: string): void {
  view.dispatch(view.state.replaceSelection(text));
  view.focus();
}

/**
 * Files that were pasted or dropped: each is stored, and its link takes the place that was kept for it: at a place in the text, or in a block of its own
 * behind the one that ends there.
 */
function useUploads(place: FormPlace, picture: () => string | null) {
  const { t } = useTranslation(['entry', 'common']);
  const count = useRef(0);
  return async (view: View, files: File[], start: number, isBlock = false) => {
    let at = start;
    for (const file of files) {
      count.current += 1;
      const title = file.name.replace(/\.[^.]+$/, '');
      const name = linkLabel(title);
      const isImage = file.type.startsWith('image/');
      const holder = `${isImage ? '!' : ''}[${t('common:uploading', { name })} ${count.current}]()`;
      at = Math.min(at, view.state.doc.length);
      if (isBlock) view.dispatch((await import('./visual/blocks.ts')).insertBlock(view.state, at, holder));
      else view.dispatch({ changes: { from: at, insert: `${holder}\n` } });
      const settle = (text: string) => {
        const from = view.state.doc.toString().indexOf(holder);
        if (from < 0) return;
        // Without its text, a block of its own is none.
        const first = text === '' && isBlock ? from - (view.state.sliceDoc(0, from).endsWith('\n\n') ? 2 : 0) : from;
        view.dispatch({ changes: { from: first, to: from + holder.length, insert: text } });
        at = first + text.length + (isBlock ? 0 : 1);
      };
      try {
        const stored = await place.upload(file, await uploadDirectory(place, picture(), assetFolderOf(place)));
        if (!stored) settle('');
        else settle(isImage ? imageIn(place, stored, title) : `[${name}](${linkTarget(linkTo(place, stored))})`);
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

export function Body({ editor, place, isRaw, language, page, onSave }: BodyProps) {
  const { t } = useTranslation(['entry', 'common']);
  const [chosen, setMode] = useBodyMode();
  const mode = chosen === 'page' && page === null ? 'source' : chosen;
  const [picking, setPicking] = useState<'link' | 'image' | null>(null);
  const view = useRef<View | null>(null);
  const [isAsking, setAsking] = useState(false);
  const [shownView, setShownView] = useState<View | null>(null);
  const hint = useId();
  const isMarkdown = language === 'markdown' && !isRaw;
  /** How the text names its first picture. */
  const picture = () => /!\[[^[\]]*\]\((?!https?:)([^()\s]+)\)/.exec(editor.text)?.[1] ?? null;
  const onFiles = useUploads(place, picture);
  const { organization, project, branch, collection } = place;
  /** Requested when the first is wanted, and known from then on. */
  const loadSnippets = useCallback(async () => {
    const { data } = await client.query(EntrySnippets, { organization, project, branch, collection }).toPromise();
    return data?.project?.studio?.collection?.snippets?.items ?? [];
  }, [organization, project, branch, collection]);
  const [look, setLook] = useState<{ extension: Extension; isNarrowed: boolean } | null>(null);
  const isOnPage = isMarkdown && mode === 'page' && page !== null;
  const isVisual = isMarkdown && (mode === 'visual' || isOnPage);
  const onPage = useRef<PageHandle | null>(null);
  const [over, setOver] = useState<CSSProperties | null>(null);
  const [isBesidePage, setBesidePage] = useState(false);
  const isBeside = isOnPage && isBesidePage;
  const isOverPage = isOnPage && !isBesidePage;
  useEffect(() => {
    if (!isVisual) return setLook(null);
    let isOver = false;
    const narrowed = isOverPage ? import('./page/one-block.ts') : null;
    void Promise.all([import('./visual/visual.ts'), narrowed]).then(([{ visual }, part]) => {
      const inserts = { image: () => setPicking('image'), link: () => setPicking('link'), snippets: loadSnippets };
      if (isOver) return;
      const narrow = part?.oneBlock((state) => onPage.current?.changed(state));
      setLook({ extension: [narrow ?? [], visual(place, inserts, !isOverPage)], isNarrowed: isOverPage });
    });
    return () => {
      isOver = true;
    };
  }, [isVisual, isOverPage, place, loadSnippets]);
  const withView = (act: (view: View) => void) => () => view.current && act(view.current);
  const toggle = (name: 'StrongEmphasis' | 'Emphasis') =>
    withView(async (one) => {
      one.focus();
      (await import('./visual/marks.ts')).toggleInline(one, name);
    });
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
      look={look?.extension ?? null}
      onFiles={onFiles}
      onSave={onSave}
      loadSnippets={isMarkdown ? loadSnippets : undefined}
      onView={(next) => {
        view.current = next;
        setShownView(next);
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
            onChange={(next) => setMode(next as typeof mode)}
            data={[
              ...(page ? [{ value: 'page', label: t('page') }] : []),
              { value: 'visual', label: t('visual') },
              { value: 'source', label: t('source') },
              { value: 'split', label: t('split') },
            ]}
            aria-label={t('view')}
          />
        )}
        <Group gap={2} role="toolbar" aria-label={t('tools')}>
          {isVisual && (
            <Suspense>
              <BlockMenu view={() => view.current} />
            </Suspense>
          )}
          {isMarkdown && (
            <>
              {button(t('bold'), <IconBold size={16} />, toggle('StrongEmphasis'))}
              {button(t('italic'), <IconItalic size={16} />, toggle('Emphasis'))}
              {!isOnPage && button(t('ask_about'), <IconSparkles size={16} />, () => setAsking(true))}
              {button(t('link_entry'), <IconLink size={16} />, () => setPicking('link'))}
              {button(t('insert_image'), <IconPhoto size={16} />, () => setPicking('image'))}
              <InsertMenu
                withView={withView}
                load={loadSnippets}
                onLink={() => setPicking('link')}
                onImage={() => setPicking('image')}
              />
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
      <div className={classes.bodyText} data-mode={isBeside ? 'beside' : isMarkdown ? mode : 'source'}>
        <Suspense fallback={<Waiting />}>
          {isOnPage && (
            <PageFrame
              editor={editor}
              place={place}
              {...page}
              view={look?.isNarrowed === isOverPage ? shownView : null}
              handle={onPage}
              isBeside={isBeside}
              onBeside={setBesidePage}
              onFiles={(one, files, at) => void onFiles(one, files, at, true)}
              onOver={setOver}
            />
          )}
          {/* biome-ignore lint/a11y/noStaticElementInteractions: what the editor in it has not taken itself */}
          <div
            className={classes.source}
            style={isOverPage ? { ...over, display: over ? undefined : 'none' } : undefined}
            onWheel={isOverPage ? (event) => onPage.current?.scroll(event.deltaY) : undefined}
            onKeyDown={(event) => {
              if (isOverPage && event.key === 'Escape' && !event.isDefaultPrevented()) onPage.current?.close();
            }}
          >
            {source}
          </div>
          {mode === 'split' && isMarkdown && <Preview editor={editor} place={place} view={view} />}
        </Suspense>
      </div>
      <Suspense>
        {isAsking && shownView && !isOnPage && <Ask view={shownView} onClose={() => setAsking(false)} />}
        {picking === 'link' && (
          <LinkPicker
            onClose={() => setPicking(null)}
            onTake={(title, address) => {
              setPicking(null);
              withView((one) => {
                const { from, to } = one.state.selection.main;
                insert(
                  one,
                  `[${from === to ? linkLabel(title) : one.state.sliceDoc(from, to)}](${linkTarget(address)})`,
                );
              })();
            }}
          />
        )}
        {picking === 'image' && (
          <MediaPicker
            isImage
            named={picture()}
            own={assetFolderOf(place)}
            onClose={() => setPicking(null)}
            onTake={(file) => {
              setPicking(null);
              const name = file.path.slice(file.path.lastIndexOf('/') + 1).replace(/\.[^.]+$/, '');
              withView((one) => {
                const { from, to } = one.state.selection.main;
                // One that takes the place of another shows the same.
                insert(one, imageIn(place, file, pictureLabel(one.state.sliceDoc(from, to)) ?? name));
              })();
            }}
          />
        )}
      </Suspense>
    </FormProvider>
  );
}

/** A text file while it is edited, or a new one while it is written: its name, what happens to it, and its text. */
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useId, useMemo, useState, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import type { EditedBranchFragment, FilesPageQuery } from '../../documents.ts';
import { opensDraft } from '../../lib/changes.ts';
import type { Fault } from '../../lib/faults.ts';
import { useLive } from '../../lib/live.ts';
import type { Place } from '../../lib/place.ts';
import { useViewer } from '../../lib/viewer.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Waiting } from '../../shell/states.tsx';
import { Banners } from '../entry/banners.tsx';
import { ChangesDialog } from '../entry/changes-dialog.tsx';
import { ContentDiff } from '../entry/content-diff.tsx';
import type { Editor } from '../entry/editor.ts';
import { EditorActions } from '../entry/header.tsx';
import type { OpenedEditor, StoredVersion } from '../entry/open-editor.ts';
import { Source } from '../entry/source.tsx';
import { type News, useEditLock, useEditorKeys, useOpenedEditor } from '../entry/use-editor.ts';
import { languageOf } from './code-languages.ts';
import classes from './files.module.css';
import { draftOf, type FileSaved, readFile, saveFile, versionOf } from './save-file.ts';
import { showUndo } from './undo-file.tsx';

type Studio = NonNullable<NonNullable<FilesPageQuery['project']>['studio']>;

interface FileEditorProps {
  place: Place;
  directory: string;
  /** Name of the file; undefined: it is new. */
  name: string | undefined;
  /** null: it is not there. */
  file: Studio['file'] | null;
  /** Whether it is known if the file is there. */
  isAnswered: boolean;
  /** The branch that is edited; null when it is gone. */
  branch: EditedBranchFragment | null;
  /** Of the published version, for the text of a draft that is gone. */
  published: string | null;
  /** Stands for a file that is not there, and of which nothing was typed. */
  missing: ReactNode;
  refresh: () => void;
}

export function FileEditor(props: FileEditorProps) {
  const { place, directory, name, file, isAnswered, branch, refresh } = props;
  const { me } = useViewer();
  const at = branch?.name ?? place.draft;
  const stored = (isAnswered && name !== undefined && file) || null;
  const { opened, news, setNews } = useOpenedEditor({
    key:
      isAnswered && at !== undefined
        ? {
            user: String(me?.id ?? ''),
            project: `${place.organization}/${place.project}`,
            branch: at,
            entry: draftOf([directory, name ?? ''].filter((part, index) => index > 0 || part !== '').join('/')),
          }
        : null,
    stored,
    read: () => stored && versionOf(stored),
    slug: name === undefined ? '' : null,
  });
  useLive(at === undefined ? [] : [`branch:${at}`], refresh);
  if (!opened) return <Waiting />;
  const { editor, restored } = opened;
  if (name !== undefined && isAnswered && !stored && editor.sha === null && restored === 'none') return props.missing;
  return (
    <Pane
      {...props}
      key={editor.key.entry}
      opened={opened}
      isGone={isAnswered && name !== undefined && stored === null}
      news={news}
      setNews={setNews}
    />
  );
}

interface PaneProps extends FileEditorProps {
  opened: OpenedEditor;
  isGone: boolean;
  news: News;
  setNews: (news: News) => void;
}

function Pane(props: PaneProps) {
  const { opened, place, directory, name, file, branch, isGone, news, setNews, refresh } = props;
  const { editor } = opened;
  const { t } = useTranslation(['files', 'entry', 'common']);
  const navigate = useNavigate();
  const hint = useId();
  const [fault, setFault] = useState<Fault | null>(null);
  const [clash, setClash] = useState<StoredVersion | null>(null);
  const [isShowingChanges, setShowingChanges] = useState(false);
  const [isRestoredShown, setRestoredShown] = useState(opened.restored !== 'none');
  const takeOver = useEditLock(opened);
  const wanted = useSyncExternalStore(editor.subscribe, () => editor.state().slug ?? '');
  const isSaving = useSyncExternalStore(editor.subscribe, () => editor.state().isSaving);
  const path = [directory, name ?? wanted.trim()].filter(Boolean).join('/');
  const ending = path.slice(path.lastIndexOf('.') + 1);
  const language = useMemo(() => languageOf(`.${ending}`), [ending]);

  const show = (at: string, draft: string | null, isEdited: boolean) => {
    const slash = at.lastIndexOf('/');
    const search = { draft: draft ?? place.draft, file: at.slice(slash + 1), ...(isEdited && { edit: true }) };
    const { organization, project } = place;
    if (slash === -1) navigate({ to: '/p/$organization/$project/files', params: place, search, replace: true });
    else
      navigate({
        to: '/p/$organization/$project/files/$',
        params: { organization, project, _splat: at.slice(0, slash) },
        search,
        replace: true,
      });
  };
  /** A version that was edited before is none that somebody else saved: it is shown here. */
  const showUndone = async (at: Place, of: string | null) => {
    refresh();
    const stored = await readFile({ place: at, path, branch: of }).catch(() => null);
    if (stored && !editor.isChanged()) await editor.discard(stored.sha, stored.content);
  };
  const settle = (saved: FileSaved) => {
    setFault(saved.kind === 'fault' ? saved.fault : null);
    setClash(saved.kind === 'clash' ? saved.stored : null);
    if (saved.kind === 'merged') setNews('merged');
    if (saved.kind === 'gone' || (saved.kind === 'fault' && saved.fault.code === 'NOT_FOUND')) refresh();
    if (saved.kind !== 'saved') return;
    setRestoredShown(false);
    setNews('none');
    const at = { ...place, draft: saved.draft ?? place.draft };
    const text = saved.draft !== null ? t('entry:saved_to_draft', { draft: saved.draft }) : t('entry:saved');
    if (saved.commit === null) notifications.show({ message: text });
    else showUndo(at, { path, commit: saved.commit }, text, () => showUndone(at, saved.draft ?? branch?.name ?? null));
    if (saved.draft !== null || name === undefined) show(path, saved.draft, true);
    else refresh();
  };
  const save = async () => {
    if (editor.state().isSaving || editor.state().isLocked || path === directory) return;
    editor.update({ isSaving: true });
    await editor.keep();
    const target = { place, path, isMedia: file?.kind === 'media', branch, isGone };
    settle(await saveFile(editor, target).finally(() => editor.update({ isSaving: false })));
  };
  useEditorKeys(editor, () => void save());

  const close = async () => {
    await editor.keep();
    if (name !== undefined) show(path, null, false);
    else navigate({ to: '.', search: (before) => ({ ...before, new: undefined }) });
  };
  const goToPublished = async () => {
    if (props.published === null) return;
    await editor.moveTo({ ...editor.key, branch: props.published });
    navigate({ to: '.', search: (before) => ({ ...before, draft: undefined }), replace: true });
  };
  const nameFault =
    name !== undefined || !fault
      ? undefined
      : fault.reason === 'already_exists'
        ? t('name_taken')
        : fault.fields.get('/actions/0/path');
  return (
    <section className={classes.file} aria-label={name ?? t('new_file')}>
      <Group className={classes.fileHead} gap="xs">
        <strong className={classes.name}>
          <MarkedText text={name ?? t('new_file')} />
        </strong>
        <EditorActions
          editor={editor}
          draft={place.draft}
          opensDraft={opensDraft(branch)}
          onSave={save}
          onChanges={() => setShowingChanges(true)}
        />
        <Button variant="subtle" onClick={close}>
          {t('common:close')}
        </Button>
      </Group>
      <Stack gap={8} className={classes.notices}>
        <Banners
          kind="files"
          opened={opened}
          branch={branch}
          isGone={isGone}
          unreadable={null}
          news={news}
          dismissNews={() => setNews('none')}
          isRestoredShown={isRestoredShown}
          hideRestored={() => setRestoredShown(false)}
          refresh={refresh}
          takeOver={takeOver}
          goToPublished={goToPublished}
        />
        {nameFault === undefined && <FaultAlert fault={fault} />}
        {name === undefined && (
          <TextInput
            label={t('name')}
            description={t('name_hint', { path: directory === '' ? t('root') : directory })}
            value={wanted}
            onChange={(event) => editor.setSlug(event.currentTarget.value)}
            error={nameFault}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
          />
        )}
      </Stack>
      <span id={hint} className="unseen">
        {t('entry:leave_hint')}
      </span>
      <div className={classes.source}>
        <Source
          editor={editor}
          language={language}
          label={t('entry:text')}
          describedBy={hint}
          onSave={() => void save()}
          onView={() => {}}
        />
      </div>
      {isShowingChanges && (
        <ChangesDialog schema={null} editor={editor} onClose={() => setShowingChanges(false)} onSave={save} />
      )}
      {clash && (
        <ClashDialog editor={editor} stored={clash} isSaving={isSaving} onClose={() => setClash(null)} onSave={save} />
      )}
    </section>
  );
}

interface ClashDialogProps {
  editor: Editor;
  stored: StoredVersion;
  isSaving: boolean;
  onClose: () => void;
  onSave: () => void;
}

/** Somebody else saved other changes of the same lines: what would go of them is shown before either version is taken. */
function ClashDialog({ editor, stored, isSaving, onClose, onSave }: ClashDialogProps) {
  const { t } = useTranslation(['files', 'common']);
  const [mine] = useState(() => editor.content());
  const takeTheirs = async () => {
    await editor.discard(stored.sha, stored.content);
    onClose();
  };
  const saveMine = () => {
    editor.rebaseOn(stored.sha, stored.content, { content: mine, edits: [], taken: [], bodyTaken: false });
    onClose();
    onSave();
  };
  return (
    <Modal opened onClose={onClose} title={t('clash_title')} size="xl">
      <Stack>
        <Text size="sm">{t('clash_lead')}</Text>
        <ContentDiff schema={null} before={stored.content} after={mine} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('clash_back')}
          </Button>
          <Button variant="default" onClick={takeTheirs}>
            {t('clash_theirs')}
          </Button>
          <Button color="red" onClick={saveMine} loading={isSaving}>
            {t('clash_mine')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** The entry's editor around its state: what happens to it, its text, and beside it the fields and what else there is to know. */
import { Alert, Button, Group, Tabs } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import type { EditedBranchFragment, EntryPageQuery, ResolutionInput } from '../../documents.ts';
import type { FormPlace } from '../../fields/form.tsx';
import { opensDraft } from '../../lib/changes.ts';
import type { Fault } from '../../lib/faults.ts';
import type { Place } from '../../lib/place.ts';
import { uploadFile } from '../../lib/upload.ts';
import { useCan } from '../../lib/viewer.tsx';
import { Waiting } from '../../shell/states.tsx';
import { Banners } from './banners.tsx';
import { Body } from './body.tsx';
import type { Editor } from './editor.ts';
import classes from './entry.module.css';
import { EntryForm } from './form.tsx';
import { EntryHeader } from './header.tsx';
import type { OpenedEditor } from './open-editor.ts';
import { type Clash, type Deleted, type Saved, saveEntry, type Target, undeleteEntry } from './save.ts';
import { SlugField } from './slug-field.tsx';
import { type News, useEditLock, useEditorKeys } from './use-editor.ts';

const Versions = lazy(async () => ({ default: (await import('./versions.tsx')).Versions }));
const References = lazy(async () => ({ default: (await import('./references.tsx')).References }));
const Seo = lazy(async () => ({ default: (await import('./seo.tsx')).Seo }));
const RenameDialog = lazy(async () => ({ default: (await import('./rename-dialog.tsx')).RenameDialog }));
const RedirectDialog = lazy(async () => ({ default: (await import('./rename-dialog.tsx')).RedirectDialog }));
const DeleteDialog = lazy(async () => ({ default: (await import('./delete-dialog.tsx')).DeleteDialog }));
const ConflictDialog = lazy(async () => ({ default: (await import('./conflict-dialog.tsx')).ConflictDialog }));
const ChangesDialog = lazy(async () => ({ default: (await import('./changes-dialog.tsx')).ChangesDialog }));

type Studio = NonNullable<NonNullable<EntryPageQuery['project']>['studio']>;

interface WorkbenchProps {
  opened: OpenedEditor;
  place: Place;
  collection: string;
  slug: string | null;
  /** null: the draft is gone. */
  branch: EditedBranchFragment | null;
  published: EditedBranchFragment | null;
  /** There is no such entry any more. */
  isGone: boolean;
  schema: NonNullable<Studio['collection']>['schema'];
  label: string;
  stored: Studio['entry'];
  news: News;
  dismissNews: () => void;
  refresh: () => void;
}

/**
 * The branch that is edited. What can be done in a draft that has just begun comes with the page's next answer: until then the server says what cannot,
 * and a second save begins no second draft.
 */
function editedBranch({ movedFrom, key }: Editor, { branch, published }: Pick<WorkbenchProps, 'branch' | 'published'>) {
  if (movedFrom === null || branch?.name === key.branch) return branch;
  if (published?.name === key.branch) return published;
  return branch && { ...branch, name: key.branch, can_commit: { ...branch.can_commit, allowed: true, reason: null } };
}

export function Workbench(props: WorkbenchProps) {
  const { opened, place, collection, slug, schema, stored, refresh } = props;
  const { editor } = opened;
  const branch = editedBranch(editor, props);
  const { t } = useTranslation(['entry', 'common']);
  const navigate = useNavigate();
  const can = useCan(place.organization, place.project);
  const isNarrow = useMediaQuery('(max-width: 1100px)');
  const [tab, setTab] = useState<string | null>('fields');
  const [fault, setFault] = useState<Fault | null>(null);
  const [clash, setClash] = useState<Clash | null>(null);
  const [dialog, setDialog] = useState<'changes' | 'rename' | 'delete' | null>(null);
  const [isRestoredShown, setRestoredShown] = useState(opened.restored !== 'none');
  const takeOver = useEditLock(opened);
  const state = useSyncExternalStore(editor.subscribe, editor.state);
  const title = useSyncExternalStore(editor.subscribe, () => {
    const found =
      editor.value(`/${schema?.identifier_field ?? 'title'}`) ?? editor.value('/title') ?? editor.value('/name');
    return typeof found === 'string' && found !== '' ? found : (stored?.title ?? slug ?? '');
  });

  const target: Target = { place, collection, slug, branch, title, isGone: props.isGone };
  const show = (at: string, draft: string | null) =>
    navigate({
      to: '/p/$organization/$project/content/$collection/$',
      params: { organization: place.organization, project: place.project, collection, _splat: at },
      search: (before) => ({ draft: draft ?? before.draft }),
      replace: true,
    });
  const settle = (saved: Saved) => {
    setFault(null);
    setClash(null);
    if (editor.hasUnparsed && saved.kind !== 'clash') setTab('fields');
    if (saved.kind === 'fault') {
      setFault(saved.fault);
      if (saved.fault.code === 'NOT_FOUND') refresh();
      if (editor.state().faults.size > 0) setTab('fields');
    } else if (saved.kind === 'clash') setClash(saved.clash);
    else if (saved.kind === 'saved') {
      setRestoredShown(false);
      props.dismissNews();
      if (saved.draft !== null || saved.slug !== slug) show(saved.slug, saved.draft);
      notifications.show({
        title: editor.hasUnparsed && t('unparsed_kept'),
        message:
          saved.draft !== null
            ? t('saved_to_draft', { draft: saved.draft })
            : t(saved.wasMerged ? 'saved_merged' : 'saved'),
      });
    } else if (editor.hasUnparsed) notifications.show({ message: t('unparsed_kept') });
  };
  const save = async (resolution?: { clash: Clash; input: ResolutionInput }) => {
    if (editor.state().isSaving || editor.state().isLocked) return;
    editor.update({ isSaving: true });
    await editor.keep();
    const saved = await saveEntry(editor, target, resolution).finally(() => editor.update({ isSaving: false }));
    settle(saved);
  };
  useEditorKeys(editor, () => void save());

  const leave = ({ commit, draft, assets }: Deleted) => {
    setDialog(null);
    const { organization, project } = place;
    navigate({
      to: '/p/$organization/$project/content/$collection',
      params: { organization, project, collection },
      search: (before) => ({ draft: draft ?? before.draft }),
    });
    const id = `deleted-${collection}/${slug}`;
    const undo = async () => {
      notifications.hide(id);
      const fault = commit === null ? null : await undeleteEntry(target, commit, assets);
      if (fault) notifications.show({ color: 'red', message: fault.message });
      else show(slug ?? '', draft);
    };
    notifications.show({
      id,
      autoClose: 10_000,
      message: (
        <Group justify="space-between">
          {t('deleted', { title })}
          {commit !== null && (
            <Button size="compact-sm" variant="default" onClick={undo}>
              {t('common:undo')}
            </Button>
          )}
        </Group>
      ),
    });
  };
  const goToPublished = async () => {
    if (!props.published) return;
    await editor.moveTo({ ...editor.key, branch: props.published.name });
    navigate({ to: '.', search: (before) => ({ ...before, draft: undefined }), replace: true });
  };

  const path = stored?.path ?? null;
  const { organization, project } = place;
  const branchName = place.draft ?? null;
  const formPlace: FormPlace = useMemo(
    () => ({
      organization,
      project,
      branch: branchName,
      collection,
      path,
      mediaPath: schema?.media_path ?? null,
      assetFolders: schema?.asset_folders === true,
      upload: async (file, directory) => {
        if (!branch) throw new Error(t('branch_gone'));
        const at = { organization, project, draft: branch.name, opensDraft: opensDraft(branch) };
        const added = await uploadFile(at, { file, directory });
        const draft = added?.begun ?? null;
        if (draft !== null) {
          await editor.moveTo({ ...editor.key, branch: draft });
          navigate({ to: '.', search: (before) => ({ ...before, draft }), replace: true });
        }
        return added;
      },
    }),
    [organization, project, branchName, collection, path, schema, branch, editor, navigate, t],
  );
  const isRaw = editor.isRaw;
  const isData = !isRaw && /\.(ya?ml|json|toml)$/.test(path ?? '');
  const hasText = isRaw || !isData;
  const tabs: ('text' | 'fields' | 'versions' | 'references' | 'seo')[] = [
    ...(isNarrow && hasText ? (['text'] as const) : []),
    // A file that cannot be read has no fields.
    ...(isRaw ? [] : (['fields'] as const)),
    ...(slug === null ? [] : (['versions', 'references'] as const)),
    ...(isRaw ? [] : (['seo'] as const)),
  ];
  const shown = tabs.find((one) => one === tab) ?? tabs[0];
  const body = hasText && (
    <section className={classes.body} aria-label={t(isRaw ? 'whole_file' : 'text')}>
      <Body
        editor={editor}
        place={formPlace}
        isRaw={isRaw}
        language="markdown"
        page={slug === null || !can('edit_studio') ? null : { slug, url: stored?.url ?? null }}
        onSave={() => void save()}
      />
    </section>
  );
  return (
    <div className={classes.page} lang={stored?.locale ?? undefined}>
      <EntryHeader
        editor={editor}
        place={place}
        collection={collection}
        label={props.label}
        title={title}
        slug={slug}
        stored={stored}
        opensDraft={opensDraft(branch)}
        onSave={() => save()}
        locale={stored?.locale ?? null}
        onDialog={setDialog}
      />
      <Banners
        {...props}
        kind="entry"
        isGone={props.isGone && slug !== null}
        unreadable={editor.isRaw ? (stored?.error ?? null) : null}
        opened={opened}
        isRestoredShown={isRestoredShown}
        hideRestored={() => setRestoredShown(false)}
        takeOver={takeOver}
        goToPublished={goToPublished}
      />
      {fault && (
        <Alert
          color="red"
          role="alert"
          withCloseButton
          closeButtonLabel={t('common:close')}
          onClose={() => setFault(null)}
        >
          {state.faults.size > 0 ? t('not_saved', { count: state.faults.size }) : fault.message}
        </Alert>
      )}
      <div className={classes.work} data-form={hasText ? 'beside' : 'only'}>
        {!isNarrow && body}
        <Tabs value={shown ?? null} onChange={setTab} className={classes.panel} keepMounted={false}>
          <Tabs.List className={classes.tabs}>
            {tabs.map((one) => (
              <Tabs.Tab key={one} value={one}>
                {t(one)}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          <div className={classes.panelText}>
            {isNarrow && hasText && <Tabs.Panel value="text">{body}</Tabs.Panel>}
            {!isRaw && (
              <Tabs.Panel value="fields" keepMounted>
                {slug === null && <SlugField editor={editor} place={formPlace} title={title} />}
                <EntryForm
                  editor={editor}
                  place={formPlace}
                  schema={schema?.json_schema}
                  isInferred={schema?.inferred ?? false}
                />
              </Tabs.Panel>
            )}
            <Suspense fallback={<Waiting />}>
              <Tabs.Panel value="versions">
                <Versions
                  editor={editor}
                  target={target}
                  schema={schema?.json_schema}
                  mayCommit={branch?.can_commit.allowed ?? false}
                />
              </Tabs.Panel>
              <Tabs.Panel value="references">
                <References target={target} />
              </Tabs.Panel>
              <Tabs.Panel value="seo">
                <Seo
                  editor={editor}
                  place={formPlace}
                  url={stored?.url ?? null}
                  noUrl={stored?.no_url?.code ?? null}
                  slug={slug}
                />
              </Tabs.Panel>
            </Suspense>
          </div>
        </Tabs>
      </div>
      <Suspense>
        {clash && (
          <ConflictDialog
            clash={clash}
            isSaving={state.isSaving}
            onClose={() => setClash(null)}
            onResolve={(input) => save({ clash, input })}
          />
        )}
        {dialog === 'changes' && (
          <ChangesDialog
            editor={editor}
            schema={schema?.json_schema}
            onClose={() => setDialog(null)}
            onSave={() => save()}
          />
        )}
        {dialog === 'rename' && (
          <RenameDialog
            editor={editor}
            target={target}
            onClose={() => setDialog(null)}
            onRenamed={(renamed) => {
              setDialog(null);
              show(renamed.slug, renamed.draft);
            }}
          />
        )}
        {state.redirect && <RedirectDialog editor={editor} redirect={state.redirect} />}
        {dialog === 'delete' && (
          <DeleteDialog editor={editor} target={target} onClose={() => setDialog(null)} onDeleted={leave} />
        )}
      </Suspense>
    </div>
  );
}

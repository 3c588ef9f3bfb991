import { ActionIcon, Button, Group, Menu, Title, Tooltip } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import type { EntryPageQuery } from '../../documents.ts';
import type { Place } from '../../lib/place.ts';
import type { Editor } from './editor.ts';
import classes from './entry.module.css';
import { Languages } from './languages.tsx';

type Stored = NonNullable<NonNullable<EntryPageQuery['project']>['studio']>['entry'];

interface EntryHeaderProps {
  editor: Editor;
  place: Place;
  collection: string;
  label: string;
  title: string;
  slug: string | null;
  stored: Stored;
  /** Saving begins a draft. */
  opensDraft: boolean;
  onSave: () => void;
  locale: string | null;
  onDialog: (dialog: 'changes' | 'rename' | 'delete') => void;
}

interface EditorActionsProps {
  editor: Editor;
  draft: string | undefined;
  /** Saving begins a draft. */
  opensDraft: boolean;
  onSave: () => void;
  onChanges: () => void;
}

/** How the changes stand, in words, and what saves them or shows them first. */
export function EditorActions({ editor, draft, opensDraft, onSave, onChanges }: EditorActionsProps) {
  const { t } = useTranslation(['entry', 'common']);
  const state = useSyncExternalStore(editor.subscribe, editor.state);
  const where = draft === undefined ? 'published' : 'draft';
  const words = () => {
    if (state.isSaving) return t('state_saving');
    if (state.keeping === 'refused') return t('state_refused');
    if (state.keeping === 'kept')
      return t(opensDraft ? 'state_kept_opens' : where === 'draft' ? 'state_kept_draft' : 'state_kept_published');
    if (editor.sha === null) return t('state_new');
    return t(where === 'draft' ? 'state_clean_draft' : 'state_clean_published');
  };
  const isChanged = state.keeping !== 'clean' || editor.sha === null;
  return (
    <>
      <span className={classes.state} data-state={state.keeping} role="status" aria-live="polite">
        {words()}
      </span>
      <Group gap={8} wrap="nowrap">
        <Button variant="default" onClick={onChanges} disabled={!isChanged}>
          {t('changes')}
        </Button>
        <Tooltip label="Ctrl S">
          <Button
            onClick={onSave}
            loading={state.isSaving}
            disabled={state.isLocked || !isChanged}
            aria-keyshortcuts="Control+S"
          >
            {t('common:save')}
          </Button>
        </Tooltip>
      </Group>
    </>
  );
}

/** Where the entry is, how its changes stand, in words, and what can be done with it. */
export function EntryHeader(props: EntryHeaderProps) {
  const { editor, place, collection, label, title, slug, opensDraft } = props;
  const { t } = useTranslation(['entry', 'common']);
  const navigate = useNavigate();
  const state = useSyncExternalStore(editor.subscribe, editor.state);
  const { organization, project, draft } = place;
  return (
    <header className={classes.head}>
      <div className={classes.titles}>
        <nav className={classes.crumbs} aria-label={t('where')}>
          <Link
            to="/p/$organization/$project/content/$collection"
            params={{ organization, project, collection }}
            search={(before) => ({ draft: before.draft })}
          >
            {label}
          </Link>
          <span aria-hidden="true">/</span>
          <span dir="auto">{slug ?? t('new')}</span>
        </nav>
        <Title order={1} size="h2" className={classes.title} dir="auto">
          {title || t('untitled')}
        </Title>
        {slug !== null && props.locale !== null && (
          <Languages
            place={place}
            collection={collection}
            slug={slug}
            locale={props.locale}
            translations={props.stored?.translations ?? []}
          />
        )}
      </div>
      <EditorActions
        editor={editor}
        draft={draft}
        opensDraft={opensDraft}
        onSave={props.onSave}
        onChanges={() => props.onDialog('changes')}
      />
      <Menu position="bottom-end" width={240}>
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label={t('more_actions')}>
            <IconDots size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {slug !== null && (
            <>
              <Menu.Item
                onClick={() =>
                  navigate({
                    to: '/p/$organization/$project/new/$collection',
                    params: { organization, project, collection },
                    search: {
                      ...(draft !== undefined && { draft }),
                      from: slug,
                      slug: `${slug}-${t('copy_suffix')}`,
                    },
                  })
                }
              >
                {t('duplicate')}
              </Menu.Item>
              <Menu.Item onClick={() => props.onDialog('rename')}>{t('rename_menu')}</Menu.Item>
              <Menu.Divider />
            </>
          )}
          <Menu.Item disabled={state.keeping === 'clean'} onClick={() => editor.discard()}>
            {t('discard_all')}
          </Menu.Item>
          {slug !== null && (
            <Menu.Item color="red" onClick={() => props.onDialog('delete')}>
              {t('delete_menu')}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
    </header>
  );
}

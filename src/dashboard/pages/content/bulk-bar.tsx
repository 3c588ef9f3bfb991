import { Button, CloseButton } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CollectionFieldFragment } from '../../documents.ts';
import { type ChangeAction, type Committed, commitChanges, undoChanges } from '../../lib/changes.ts';
import type { Fault } from '../../lib/faults.ts';
import type { Place } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { DeleteDialog, MoveDialog, SetDialog } from './bulk-dialogs.tsx';
import classes from './content.module.css';
import { fieldLabel } from './field-text.ts';
import type { Selection } from './selection.ts';

interface BulkBarProps {
  place: Place;
  collection: string;
  fields: readonly CollectionFieldFragment[];
  selection: Selection;
  onClear: () => void;
}

type Dialog = 'set' | 'move' | 'delete';

/** The field by which entries say that they are drafts, and its value then; null where they have none. */
function draftFlag(fields: readonly CollectionFieldFragment[]): { name: string; draft: boolean } | null {
  const has = (name: string) => fields.some((field) => field.name === name && field.type === 'boolean');
  if (has('draft')) return { name: 'draft', draft: true };
  return has('published') ? { name: 'published', draft: false } : null;
}

/** Of the first entry whose change is refused: its place among the changes, and its field. */
const refusedField = /^\/actions\/(\d+)\/frontmatter\/([^/]+)/;

/** What can be done with all selected entries: by one commit, which can be taken back. */
export function BulkBar({ place, collection, fields, selection, onClear }: BulkBarProps) {
  const { t } = useTranslation(['content', 'common']);
  const can = useCan(place.organization, place.project);
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const [isRunning, setRunning] = useState(false);
  const flag = draftFlag(fields);
  const count = selection.size;
  const entries = [...selection.values()];

  const undo = async (committed: Committed, toast: string) => {
    notifications.hide(toast);
    const fault = await undoChanges(place, committed);
    notifications.show(fault ? { message: fault.message, color: 'red', autoClose: false } : { message: t('undone') });
  };
  /** Names the entry and its field as they are shown here. */
  const inWords = (fault: Fault): Fault => {
    const [[pointer = '', text = ''] = []] = fault.fields;
    const [, at = '', name = ''] = refusedField.exec(pointer) ?? [];
    const entry = entries[Number(at || -1)];
    if (!entry) return fault;
    const field = fields.find((each) => each.name === name) ?? { name, label: null };
    return { ...fault, message: t('refused', { title: entry.title.slice(0, 100), field: fieldLabel(field), text }) };
  };
  /** @returns why it was refused */
  const commit = async (actions: ChangeAction[], message: string): Promise<Fault | null> => {
    setRunning(true);
    const { committed, fault } = await commitChanges(place, actions, message);
    setRunning(false);
    if (fault) return inWords(fault);
    setDialog(null);
    onClear();
    if (!committed) {
      notifications.show({ message: t('nothing_changed') });
      return null;
    }
    const id = `changes-${committed.sha}`;
    notifications.show({
      id,
      autoClose: 15_000,
      title: message,
      message: (
        <>
          {committed.begun !== null && <p>{t('common:in_draft', { branch: committed.begun })}</p>}
          <Button size="compact-sm" variant="default" onClick={() => void undo(committed, id)}>
            {t('common:undo')}
          </Button>
        </>
      ),
    });
    const { begun } = committed;
    if (begun !== null) navigate({ to: '.', search: (before) => ({ ...before, draft: begun }) });
    return null;
  };
  const setFlag = async (isDraft: boolean) => {
    if (!flag) return;
    const frontmatter = { [flag.name]: isDraft === flag.draft };
    const actions = entries.map(({ slug }) => ({ op: 'update' as const, collection, slug, frontmatter }));
    const fault = await commit(actions, t('changed', { count }));
    if (fault) notifications.show({ message: fault.message, color: 'red', autoClose: false });
  };
  const shared = { place, collection, entries, onCommit: commit, onClose: () => setDialog(null) };
  return (
    <div className={classes.toolbar} role="toolbar" aria-label={t('actions')}>
      <span className={classes.selected} role="status">
        {t('selected', { count })}
      </span>
      {flag && (
        <>
          <Button variant="default" disabled={isRunning} onClick={() => void setFlag(true)}>
            {t('mark_draft')}
          </Button>
          <Button variant="default" disabled={isRunning} onClick={() => void setFlag(false)}>
            {t('mark_published')}
          </Button>
        </>
      )}
      <Button variant="default" disabled={isRunning} onClick={() => setDialog('set')}>
        {t('set_field')}
      </Button>
      <Button variant="default" disabled={isRunning} onClick={() => setDialog('move')}>
        {t('move')}
      </Button>
      {can('delete_studio') && (
        <Button variant="default" c="var(--p-bad)" disabled={isRunning} onClick={() => setDialog('delete')}>
          {t('common:delete')}
        </Button>
      )}
      <CloseButton flex="none" aria-label={t('clear_selection')} onClick={onClear} />
      {dialog === 'set' && <SetDialog {...shared} fields={fields} />}
      {dialog === 'move' && <MoveDialog {...shared} />}
      {dialog === 'delete' && <DeleteDialog {...shared} />}
    </div>
  );
}

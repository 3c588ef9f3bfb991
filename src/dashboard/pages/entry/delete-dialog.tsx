import { Alert, Button, Checkbox, Group, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { EntryOwnFiles } from '../../documents.ts';
import type { Fault } from '../../lib/faults.ts';
import { useCollectionLabel } from '../../parts/entry-name.tsx';
import type { Editor } from './editor.ts';
import classes from './panel.module.css';
import { References } from './references.tsx';
import { type Deleted, deleteEntry, type Target } from './save.ts';

interface DeleteDialogProps {
  editor: Editor;
  target: Target;
  onClose: () => void;
  onDeleted: (deleted: Deleted) => void;
}

/** Files shown of a long list. */
const mostShown = 20;

interface OwnFilesProps {
  files: readonly { path: string; references: readonly { collection: string; slug: string }[] }[];
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
}

/** The files that belong to the entry alone, and whether they go along; those that others name stay. */
function OwnFiles({ files, isChecked, onChange }: OwnFilesProps) {
  const { t } = useTranslation('entry');
  const labelOf = useCollectionLabel();
  const going = files.filter(({ references }) => references.length === 0);
  const kept = files.filter(({ references }) => references.length > 0);
  return (
    <Stack gap="xs">
      {going.length > 0 && (
        <>
          <Checkbox
            label={t('delete_own_files', { count: going.length })}
            checked={isChecked}
            onChange={(event) => onChange(event.currentTarget.checked)}
          />
          <ul className={classes.rows} aria-label={t('own_files')}>
            {going.slice(0, mostShown).map(({ path }) => (
              <li key={path} className={classes.row}>
                <span dir="auto">{path}</span>
              </li>
            ))}
          </ul>
          {going.length > mostShown && (
            <Text size="sm" c="dimmed">
              {t('more_files', { count: going.length - mostShown })}
            </Text>
          )}
        </>
      )}
      {kept.length > 0 && (
        <>
          <Text size="sm">{t('kept_files')}</Text>
          <ul className={classes.rows} aria-label={t('kept_files')}>
            {kept.slice(0, mostShown).map(({ path, references: [first] }) => (
              <li key={path} className={classes.row}>
                <span dir="auto">{path}</span>
                <small>{t('named_by', { entry: first && `${labelOf(first.collection)} / ${first.slug}` })}</small>
              </li>
            ))}
          </ul>
          {kept.length > mostShown && (
            <Text size="sm" c="dimmed">
              {t('more_files', { count: kept.length - mostShown })}
            </Text>
          )}
        </>
      )}
    </Stack>
  );
}

/** Deletes the entry, once it is seen what names it. */
export function DeleteDialog({ editor, target, onClose, onDeleted }: DeleteDialogProps) {
  const { t } = useTranslation(['entry', 'common']);
  const [isRunning, setRunning] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const [isWhole, setWhole] = useState(true);
  const { place, collection, slug, branch } = target;
  const { organization, project } = place;
  const [{ data, fetching }] = useQuery({
    query: EntryOwnFiles,
    variables: { organization, project, collection, slug: slug ?? '', branch: branch?.name ?? null },
    requestPolicy: 'network-only',
  });
  const files = data?.project?.studio?.entry?.own_files ?? [];
  const isNeeded = fault?.reason === 'in_use';
  const run = async () => {
    setRunning(true);
    const outcome = await deleteEntry(editor, target, { force: isNeeded, assets: isWhole && files.length > 0 });
    setRunning(false);
    if ('fault' in outcome) setFault(outcome.fault);
    else onDeleted(outcome);
  };
  return (
    <Modal opened onClose={onClose} title={t('delete_title', { title: target.title })} size="lg">
      <Stack>
        <Text size="sm">{t('delete_lead')}</Text>
        {files.length > 0 && <OwnFiles files={files} isChecked={isWhole} onChange={setWhole} />}
        <References target={target} />
        {fault && (
          <Alert color="red" role="alert">
            {isNeeded ? t('delete_in_use') : fault.message}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('common:cancel')}
          </Button>
          <Button color="red" onClick={run} loading={isRunning} disabled={fetching}>
            {isNeeded ? t('delete_anyway') : t('common:delete')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

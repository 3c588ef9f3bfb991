import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Fault } from '../../lib/faults.ts';
import type { Editor } from './editor.ts';
import { References } from './references.tsx';
import { type Deleted, deleteEntry, type Target } from './save.ts';

interface DeleteDialogProps {
  editor: Editor;
  target: Target;
  onClose: () => void;
  onDeleted: (deleted: Deleted) => void;
}

/** Deletes the entry, once it is seen what names it. */
export function DeleteDialog({ editor, target, onClose, onDeleted }: DeleteDialogProps) {
  const { t } = useTranslation(['entry', 'common']);
  const [isRunning, setRunning] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const isNeeded = fault?.reason === 'in_use';
  const run = async () => {
    setRunning(true);
    const outcome = await deleteEntry(editor, target, isNeeded);
    setRunning(false);
    if ('fault' in outcome) setFault(outcome.fault);
    else onDeleted(outcome);
  };
  return (
    <Modal opened onClose={onClose} title={t('delete_title', { title: target.title })} size="lg">
      <Stack>
        <Text size="sm">{t('delete_lead')}</Text>
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
          <Button color="red" onClick={run} loading={isRunning}>
            {isNeeded ? t('delete_anyway') : t('common:delete')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

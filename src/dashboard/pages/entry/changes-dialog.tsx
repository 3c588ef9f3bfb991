import { Button, Group, Modal, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ContentDiff } from './content-diff.tsx';
import type { Editor } from './editor.ts';

/** What a save would change. */
export function ChangesDialog({
  editor,
  schema,
  onClose,
  onSave,
}: {
  editor: Editor;
  /** JSON Schema of the collection. */
  schema: unknown;
  onClose: () => void;
  onSave: () => void;
}) {
  const { t } = useTranslation(['entry', 'common']);
  const [after] = useState(() => editor.content());
  return (
    <Modal opened onClose={onClose} title={t('changes_title')} size="xl">
      <Stack>
        <ContentDiff before={editor.base} after={after} schema={schema} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('common:close')}
          </Button>
          <Button
            onClick={() => {
              onClose();
              onSave();
            }}
          >
            {t('common:save')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

import { Modal, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ResolutionInput } from '../../documents.ts';
import { ConflictForm } from '../../parts/conflict-form.tsx';
import type { Clash } from './save.ts';

interface ConflictDialogProps {
  clash: Clash;
  isSaving: boolean;
  onClose: () => void;
  onResolve: (input: ResolutionInput) => void;
}

/** The entry changed in the same places meanwhile: for each of them, which version stays, or what is written by hand. */
export function ConflictDialog({ clash, isSaving, onClose, onResolve }: ConflictDialogProps) {
  const { t } = useTranslation('entry');
  return (
    <Modal opened onClose={onClose} title={t('conflict_title')} size="xl">
      <Stack>
        <Text size="sm">{t('conflict_lead')}</Text>
        <ConflictForm
          conflicts={[clash.conflict]}
          sides={{ current: t('take_current'), incoming: t('take_incoming') }}
          action={t('conflict_save')}
          onResolve={([resolution]) => resolution && onResolve(resolution)}
          isRunning={isSaving}
          fault={null}
        />
      </Stack>
    </Modal>
  );
}

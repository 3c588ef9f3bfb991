import { Button, Modal, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';

interface SignOutDialogProps {
  /** How many drafts this browser alone has. */
  drafts: number;
  onKeep: () => void;
  onRemove: () => void;
  onClose: () => void;
}

/** Asks what is to become of drafts when their author signs out. */
export function SignOutDialog({ drafts, onKeep, onRemove, onClose }: SignOutDialogProps) {
  const { t } = useTranslation(['session', 'common']);
  return (
    <Modal opened onClose={onClose} title={t('drafts_here', { count: drafts })}>
      <Stack>
        <Text>{t('drafts_lead')}</Text>
        <Button onClick={onKeep} data-autofocus>
          {t('drafts_keep')}
        </Button>
        <Button variant="outline" color="red" onClick={onRemove}>
          {t('drafts_remove')}
        </Button>
        <Button variant="default" onClick={onClose}>
          {t('common:cancel')}
        </Button>
      </Stack>
    </Modal>
  );
}

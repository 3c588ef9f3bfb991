import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormats } from '../../lib/format.ts';
import { Copyable } from '../../parts/copyable.tsx';

/** What the server gives once: a link for somebody, or a token. */
export type Shown =
  | { kind: 'join' | 'reset'; email: string; value: string; expires_at: string }
  | { kind: 'token'; name: string; value: string; expires_at: string | null };

/** Closed by its button alone, since what it shows cannot be had again. */
export function ShownOnce({ shown, onClose }: { shown: Shown; onClose: () => void }) {
  const { t } = useTranslation('organization');
  const { time } = useFormats();
  const who = shown.kind === 'token' ? shown.name : shown.email;
  return (
    <Modal
      opened
      onClose={onClose}
      title={t(`shown_${shown.kind}`, { who })}
      closeOnClickOutside={false}
      withCloseButton={false}
      size="lg"
    >
      <Stack>
        <Text>{t(`shown_${shown.kind}_lead`)}</Text>
        <Copyable value={shown.value} label={t(`shown_${shown.kind}_label`)} />
        <Text size="sm" c="dimmed">
          {shown.expires_at === null ? t('never_expires') : t('good_until', { time: time(shown.expires_at) })}
        </Text>
        <Group justify="flex-end">
          <Button onClick={onClose}>{t('done')}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

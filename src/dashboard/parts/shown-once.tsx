import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Copyable } from './copyable.tsx';

interface ShownOnceProps {
  title: string;
  /** What it is for. */
  children: ReactNode;
  value: string;
  label: string;
  /** Below it, such as until when it is good. */
  note?: string;
  onClose: () => void;
}

/** What the server gives once. Closed by its button alone, since what it shows cannot be had again. */
export function ShownOnce({ title, children, value, label, note, onClose }: ShownOnceProps) {
  const { t } = useTranslation('common');
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      size="lg"
    >
      <Stack>
        <Text>{children}</Text>
        <Copyable value={value} label={label} />
        {note && (
          <Text size="sm" c="dimmed">
            {note}
          </Text>
        )}
        <Group justify="flex-end">
          <Button onClick={onClose}>{t('done')}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

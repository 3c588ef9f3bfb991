import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Fault } from '../lib/faults.ts';
import { FaultAlert } from './fault-alert.tsx';

interface ConfirmProps {
  title: string;
  /** What will happen, and whether it can be undone. */
  children: ReactNode;
  /** The button that does it, in the words of the act. */
  action: string;
  onConfirm: () => void;
  onClose: () => void;
  isRunning?: boolean;
  fault?: Fault | null;
  /** A name that has to be typed first, for what cannot be undone. */
  typed?: string;
  /** It changes what others see, but takes nothing away. */
  isHarmless?: boolean;
}

/** The dialog before what takes something away, or changes what everybody sees. */
export function Confirm({
  title,
  children,
  action,
  onConfirm,
  onClose,
  isRunning = false,
  fault,
  typed,
  isHarmless = false,
}: ConfirmProps) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onConfirm();
  };
  return (
    <Modal opened onClose={onClose} title={title}>
      <form onSubmit={submit}>
        <Stack>
          <FaultAlert fault={fault ?? null} />
          <Text component="div">{children}</Text>
          {typed !== undefined && (
            <TextInput
              label={t('type_name', { name: typed })}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              autoComplete="off"
              spellCheck={false}
              data-autofocus
            />
          )}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              {t('cancel')}
            </Button>
            <Button
              type="submit"
              {...(!isHarmless && { color: 'red' })}
              loading={isRunning}
              disabled={typed !== undefined && text !== typed}
            >
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

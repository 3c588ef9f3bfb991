import { Button, Group, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Fault } from '../lib/faults.ts';
import { FaultAlert } from './fault-alert.tsx';

interface CommandFormProps {
  submit: string;
  onSubmit: () => void;
  isRunning: boolean;
  fault: Fault | null;
  /** JSON Pointers of the fields that show their own faults. */
  beside?: readonly string[];
  /** There is nothing to send yet. */
  isUnchanged?: boolean;
  /** In a dialog: closes it. */
  onCancel?: () => void;
  children: ReactNode;
}

/** Fields and the button that sends them as one command; what was typed stays when it is refused. */
export function CommandForm(props: CommandFormProps) {
  const { submit, onSubmit, isRunning, fault, beside = [], isUnchanged = false, onCancel, children } = props;
  const { t } = useTranslation();
  const send = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form onSubmit={send}>
      <Stack gap="md">
        <FaultAlert fault={fault} beside={beside} />
        {children}
        <Group gap="xs" justify={onCancel ? 'flex-end' : 'flex-start'}>
          {onCancel && (
            <Button variant="default" onClick={onCancel}>
              {t('cancel')}
            </Button>
          )}
          <Button type="submit" loading={isRunning} disabled={isUnchanged}>
            {submit}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

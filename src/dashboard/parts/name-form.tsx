import { TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Command, Outcome } from '../lib/command.ts';
import { CommandForm } from './command-form.tsx';

interface NameFormProps extends Pick<Command<unknown, never>, 'isRunning' | 'fault'> {
  before: string;
  /** Sends the command that changes it. */
  onSave: (name: string) => Promise<Outcome<unknown>>;
  hint?: string;
  autoComplete?: string;
}

/** The name of something, and its change. */
export function NameForm({ before, onSave, isRunning, fault, hint, autoComplete }: NameFormProps) {
  const { t } = useTranslation('common');
  const [name, setName] = useState(before);
  const save = async () => {
    const outcome = await onSave(name);
    if (!outcome.fault) notifications.show({ message: t('saved') });
  };
  return (
    <CommandForm
      submit={t('save')}
      onSubmit={save}
      isRunning={isRunning}
      fault={fault}
      beside={['/name']}
      isUnchanged={name === before}
    >
      <TextInput
        label={t('name')}
        description={hint}
        autoComplete={autoComplete}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={fault?.fields.get('/name')}
      />
    </CommandForm>
  );
}

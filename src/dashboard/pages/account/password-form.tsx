import { PasswordInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ChangePassword } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useViewer } from '../../lib/viewer.tsx';
import { CommandForm } from '../../parts/command-form.tsx';

export function PasswordForm({ onChanged }: { onChanged: () => void }) {
  const { t } = useTranslation(['account', 'session']);
  const { me } = useViewer();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const { run, isRunning, fault } = useCommand(ChangePassword);
  const change = async () => {
    const outcome = await run({ input: { current_password: current, new_password: next } });
    if (outcome.fault) return;
    setCurrent('');
    setNext('');
    notifications.show({ message: t('password_changed') });
    onChanged();
  };
  // The server says so without naming the field.
  const isWrong = fault?.reason === 'forbidden';
  return (
    <CommandForm
      submit={t('session:reset_button')}
      onSubmit={change}
      isRunning={isRunning}
      fault={isWrong ? null : fault}
      beside={['/current_password', '/new_password']}
      isUnchanged={current === '' || next === ''}
    >
      {/* Password managers find the account by it. */}
      <input type="hidden" name="username" autoComplete="username" value={me?.email ?? ''} readOnly />
      <PasswordInput
        label={t('current_password')}
        autoComplete="current-password"
        value={current}
        onChange={(event) => setCurrent(event.currentTarget.value)}
        error={isWrong ? t('session:wrong_password') : fault?.fields.get('/current_password')}
      />
      <PasswordInput
        label={t('new_password')}
        description={t('session:password_hint')}
        autoComplete="new-password"
        value={next}
        onChange={(event) => setNext(event.currentTarget.value)}
        error={fault?.fields.get('/new_password')}
      />
    </CommandForm>
  );
}

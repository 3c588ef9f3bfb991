/** The dialog in which a person proves again who they are, over a page that keeps its state. */
import { Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ConfirmPassword, SignIn } from '../documents.ts';
import { client } from '../lib/client.ts';
import { type Fault, faultOf } from '../lib/faults.ts';
import { collectProofs, type ProofRequest } from '../lib/proof.ts';
import { useViewer } from '../lib/viewer.tsx';

/** Once, around the pages for people who are signed in. */
export function ProofDialog() {
  const { t } = useTranslation(['session', 'common']);
  const { me } = useViewer();
  const [request, setRequest] = useState<ProofRequest | null>(null);
  const [email, setEmail] = useState(me?.email ?? '');
  const [password, setPassword] = useState('');
  const [fault, setFault] = useState<Fault | null>(null);
  const [isSending, setSending] = useState(false);
  useEffect(() => collectProofs(setRequest), []);

  const close = (proved: boolean) => {
    request?.settle(proved);
    setRequest(null);
    setPassword('');
    setFault(null);
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    const answer =
      request?.proof === 'session'
        ? client.mutation(SignIn, { input: { email, password } })
        : client.mutation(ConfirmPassword, { input: { password } });
    const { error } = await answer.toPromise();
    setSending(false);
    if (error) setFault(faultOf(error));
    else close(true);
  };
  const isSession = request?.proof === 'session';
  const wrong: Record<string, string> = { unauthenticated: t('wrong_sign_in'), forbidden: t('wrong_password') };
  const explained = fault && (wrong[fault.reason] ?? fault.message);
  return (
    <Modal
      opened={request !== null}
      onClose={() => close(false)}
      title={t(isSession ? 'ended' : 'confirm')}
      // Above the dialog in which the command was given.
      zIndex={400}
    >
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">{t(isSession ? 'ended_lead' : 'confirm_lead')}</Text>
          {isSession && (
            <TextInput
              label={t('email')}
              type="email"
              autoComplete="username"
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
              required
            />
          )}
          <PasswordInput
            label={t('password')}
            autoComplete="current-password"
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            error={explained}
            data-autofocus
            required
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={() => close(false)}>
              {t('common:cancel')}
            </Button>
            <Button type="submit" loading={isSending}>
              {t(isSession ? 'sign_in' : 'go_on')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

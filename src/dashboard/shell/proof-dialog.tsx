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
  const signIn = async () => {
    const { data, error } = await client.mutation(SignIn, { input: { email, password } }).toPromise();
    return { user: data?.signIn ? `user:${data.signIn.user.id}` : undefined, error };
  };
  const confirm = async () => {
    const { error } = await client.mutation(ConfirmPassword, { input: { password } }).toPromise();
    return { user: me?.id, error };
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    const { user, error } = request?.proof === 'session' ? await signIn() : await confirm();
    setSending(false);
    if (error) setFault(faultOf(error));
    // What is on the page, and the command that waits, are of somebody else.
    else if (user !== undefined && user !== me?.id) location.reload();
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
              withAsterisk={false}
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
            withAsterisk={false}
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

/** The dialog in which a person proves again who they are, over a page that keeps its state. */
import { Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ConfirmPassword, SignedInAs, SignIn } from '../documents.ts';
import { client } from '../lib/client.ts';
import { type Fault, faultOf } from '../lib/faults.ts';
import { collectProofs, type ProofRequest } from '../lib/proof.ts';
import { useViewer } from '../lib/viewer.tsx';

/** Once, around the pages for people who are signed in. */
export function ProofDialog() {
  const { t } = useTranslation(['session', 'common']);
  const { me, instance } = useViewer();
  const [request, setRequest] = useState<ProofRequest | null>(null);
  const [email, setEmail] = useState(me?.email ?? '');
  const [password, setPassword] = useState('');
  const [fault, setFault] = useState<Fault | null>(null);
  const [isSending, setSending] = useState(false);
  useEffect(() => collectProofs(setRequest), []);

  const close = useCallback(
    (proved: boolean) => {
      request?.settle(proved);
      setRequest(null);
      setPassword('');
      setFault(null);
    },
    [request],
  );
  const isSession = request?.proof === 'session';
  const host = isSession ? instance?.oidc : null;
  const takesPassword = !isSession || instance?.password_sign_in !== false;
  const enter = useCallback(
    (user: string | undefined) => {
      // What is on the page, and the command that waits, are of somebody else.
      if (user !== undefined && user !== me?.id) location.reload();
      else close(true);
    },
    [me?.id, close],
  );
  // Another tab leads to the provider, since this one keeps what was typed; when it has the focus again, somebody may be signed in.
  useEffect(() => {
    if (!host) return;
    const look = async () => {
      const { data } = await client.query(SignedInAs, {}, { requestPolicy: 'network-only' }).toPromise();
      if (data?.me) enter(data.me.id);
    };
    window.addEventListener('focus', look);
    return () => window.removeEventListener('focus', look);
  }, [host, enter]);
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
    if (!takesPassword) return;
    setSending(true);
    const { user, error } = isSession ? await signIn() : await confirm();
    setSending(false);
    if (error) setFault(faultOf(error));
    else enter(user);
  };
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
          {isSession && takesPassword && (
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
          {takesPassword && (
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
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => close(false)}>
              {t('common:cancel')}
            </Button>
            {host && (
              <Button component="a" href="/auth/oidc" target="_blank" variant={takesPassword ? 'default' : 'filled'}>
                {t('sign_in_with', { host })}
              </Button>
            )}
            {takesPassword && (
              <Button type="submit" loading={isSending}>
                {t(isSession ? 'sign_in' : 'go_on')}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** The dialog that asks a person to prove again who they are, over a page that keeps its state. */
import { Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ConfirmPassword, SignIn } from '../documents.ts';
import { client } from './client.ts';
import { type Fault, faultOf } from './faults.ts';
import { useViewer } from './viewer.tsx';

/** `session`: it has ended, sign in again; `password`: the session is good, the command wants a recent proof. */
type Proof = 'session' | 'password';

interface Request {
  proof: Proof;
  settle: (proved: boolean) => void;
}

let listener: ((request: Request) => void) | null = null;
let pending: { proof: Proof; answer: Promise<boolean> } | null = null;

/** Several commands that want a proof at once share one dialog. @returns whether it was given */
export function requestProof(proof: Proof): Promise<boolean> {
  if (pending?.proof === proof) return pending.answer;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  if (!listener) return Promise.resolve(false);
  pending = { proof, answer: promise.finally(() => (pending = null)) };
  listener({ proof, settle: resolve });
  return pending.answer;
}

/** Place of the dialog; once, around the pages. */
export function ProofDialog() {
  const { t } = useTranslation(['session', 'common']);
  const { me } = useViewer();
  const [request, setRequest] = useState<Request | null>(null);
  const [email, setEmail] = useState(me?.email ?? '');
  const [password, setPassword] = useState('');
  const [fault, setFault] = useState<Fault | null>(null);
  const [isSending, setSending] = useState(false);
  useEffect(() => {
    listener = setRequest;
    return () => {
      listener = null;
    };
  }, []);

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

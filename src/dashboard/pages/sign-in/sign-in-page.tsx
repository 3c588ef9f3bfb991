import { Alert, Button, Stack } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { SignIn } from '../../documents.ts';
import { client } from '../../lib/client.ts';
import { i18n } from '../../lib/i18n.ts';
import { keepReturn, takeReturn } from '../../lib/provider-return.ts';
import { useSignOut } from '../../lib/sign-out.tsx';
import { useViewer } from '../../lib/viewer.tsx';
import { Form } from './form.tsx';
import { Card } from './outside.tsx';

/** Why the way over the provider led to no session: its code follows `#` (`rest/openid.ts`). */
function refusal(): string | null {
  const key = `session:refused_${location.hash.slice(1)}` as 'session:refused_forbidden';
  if (location.hash === '') return null;
  return i18n.t(i18n.exists(key) ? key : 'session:refused_forbidden');
}

/** Only an address of this dashboard: what stands in `next` may come from anywhere, and browsers read `/\t/host` as `//host`. */
function inside(next: string | undefined): string {
  const url = next === undefined ? null : URL.parse(next, location.origin);
  return url?.origin === location.origin ? url.href : '/';
}

/** Somebody is signed in here already: they may go on, or let another person in. */
function SignedIn({ name, refused }: { name: string; refused: string | null }) {
  const { t } = useTranslation('session');
  const { signOut, dialog } = useSignOut();
  return (
    <Card title={t('signed_in')} lead={t('signed_in_as', { name })}>
      <Stack>
        {refused && (
          <Alert color="red" role="alert">
            {refused}
          </Alert>
        )}
        <Button component="a" href="/">
          {t('go_on')}
        </Button>
        <Button variant="default" onClick={signOut}>
          {t('sign_out')}
        </Button>
        {dialog}
      </Stack>
    </Card>
  );
}

export function SignInPage() {
  const { t } = useTranslation('session');
  const { next: named } = useSearch({ from: '/account-pages/sign-in' });
  const { instance, me } = useViewer();
  const [refused] = useState(refusal);
  const [back] = useState(takeReturn);
  // A person that the provider has refused still wants to go where they were going.
  const next = named ?? back ?? undefined;
  // Loaded anew: nothing of who was here before is to stay in memory.
  const enter = () => location.assign(inside(next));
  const isBack = me !== null && back !== null && refused === null;
  useEffect(() => {
    if (isBack) location.replace(inside(back));
  }, [isBack, back]);
  if (isBack) return null;
  if (me) return <SignedIn name={me.name} refused={refused} />;
  return (
    <Card title={t('sign_in')} lead={t('sign_in_lead')}>
      <Stack>
        {refused && (
          <Alert color="red" role="alert">
            {refused}
          </Alert>
        )}
        {instance?.password_sign_in !== false && (
          <Form
            fields={[
              { name: 'email', label: t('email'), type: 'email', autoComplete: 'username' },
              { name: 'password', label: t('password'), type: 'password', autoComplete: 'current-password' },
            ]}
            submit={t('sign_in')}
            explain={{ unauthenticated: t('wrong_sign_in') }}
            onSubmit={(input) =>
              client.mutation(SignIn, { input: input as { email: string; password: string } }).toPromise()
            }
            onDone={enter}
          />
        )}
        {instance?.oidc && (
          <Button component="a" href="/auth/oidc" variant="default" onClick={() => keepReturn(inside(next))}>
            {t('sign_in_with', { host: instance.oidc })}
          </Button>
        )}
      </Stack>
    </Card>
  );
}

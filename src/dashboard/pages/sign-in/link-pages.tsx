/** The pages that links lead to: the first account, an invitation, a new password. What follows `#` in the link is its secret. */
import { Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Join, ResetPassword, SetUp } from '../../documents.ts';
import { client } from '../../lib/client.ts';
import { useViewer } from '../../lib/viewer.tsx';
import { type Field, Form } from './form.tsx';
import { Card } from './outside.tsx';

/** Read once, and taken out of the address: it is not to stay in the history of the browser. */
function takeSecret(): string {
  const secret = location.hash.slice(1);
  if (secret !== '') history.replaceState(history.state, '', location.pathname);
  return secret;
}

const documents = { setup: SetUp, join: Join, reset: ResetPassword };

interface LinkPageProps {
  command: keyof typeof documents;
  fields: readonly Field[];
  submit: string;
}

function LinkPage({ command, fields, submit }: LinkPageProps) {
  const { t } = useTranslation('session');
  const [secret] = useState(takeSecret);
  const { instance } = useViewer();
  if (command === 'setup' && instance?.setup_required === false)
    return (
      <Card title={t('setup')}>
        <Text mt="md">
          {t('setup_done')} <a href="/sign-in">{t('sign_in')}</a>
        </Text>
      </Card>
    );
  if (secret === '')
    return (
      <Card title={t(command)}>
        <Text mt="md">{t('link_missing')}</Text>
      </Card>
    );
  const send = (input: object) =>
    client.mutation(documents[command], { input: { ...input, secret } } as never).toPromise();
  return (
    <Card title={t(command)} lead={t(`${command}_lead`)}>
      <Form
        fields={fields}
        submit={submit}
        explain={{ '/secret': t(`${command}_gone`) }}
        onSubmit={send}
        onDone={() => location.assign('/')}
      />
    </Card>
  );
}

function useFields() {
  const { t } = useTranslation('session');
  const password: Field = {
    name: 'password',
    label: t('password'),
    type: 'password',
    autoComplete: 'new-password',
    hint: t('password_hint'),
  };
  const name: Field = { name: 'name', label: t('name'), type: 'text', autoComplete: 'name' };
  return { t, password, name };
}

function SetupPage() {
  const { t, password, name } = useFields();
  const fields: Field[] = [
    name,
    { name: 'email', label: t('email'), type: 'email', autoComplete: 'username' },
    password,
    { name: 'organization_name', label: t('organization'), type: 'text', autoComplete: 'organization' },
    { name: 'keep_demo', label: t('keep_demo'), type: 'checkbox', autoComplete: 'off', hint: t('keep_demo_hint') },
  ];
  return <LinkPage command="setup" fields={fields} submit={t('create_account')} />;
}

function JoinPage() {
  const { t, password, name } = useFields();
  const fields: Field[] = [
    { ...name, isOptional: true, hint: t('name_hint') },
    { ...password, isOptional: true },
  ];
  return <LinkPage command="join" fields={fields} submit={t('join_button')} />;
}

function ResetPage() {
  const { t, password } = useFields();
  return <LinkPage command="reset" fields={[password]} submit={t('reset_button')} />;
}

export { JoinPage as join, ResetPage as reset, SetupPage as setup };

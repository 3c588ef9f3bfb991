/** What belongs to the person who is signed in, whatever organisations they are in. */
import { Text, TextInput, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { UpdateAccount } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { refreshViewer, useViewer } from '../../lib/viewer.tsx';
import { CommandForm } from '../../parts/command-form.tsx';
import { Section } from '../../parts/section.tsx';
import { Frame } from '../../shell/frame.tsx';
import { Failure, Waiting } from '../../shell/states.tsx';
import classes from './account-page.module.css';
import { accountQuery } from './account-query.ts';
import { Identities } from './identities.tsx';
import { PasswordForm } from './password-form.tsx';
import { PreferencesForm } from './preferences-form.tsx';
import { Sessions } from './sessions.tsx';
import { Shortcuts } from './shortcuts.tsx';

function NameForm() {
  const { t } = useTranslation(['account', 'common']);
  const { me } = useViewer();
  const [name, setName] = useState(me?.name ?? '');
  const { run, isRunning, fault } = useCommand(UpdateAccount);
  const save = async () => {
    const outcome = await run({ input: { name } });
    if (outcome.fault) return;
    await refreshViewer();
    notifications.show({ message: t('common:saved') });
  };
  return (
    <CommandForm
      submit={t('common:save')}
      onSubmit={save}
      isRunning={isRunning}
      fault={fault}
      beside={['/name']}
      isUnchanged={name === me?.name}
    >
      <TextInput
        label={t('common:name')}
        description={t('name_hint')}
        autoComplete="name"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={fault?.fields.get('/name')}
        dir="auto"
      />
    </CommandForm>
  );
}

export function AccountPage() {
  const { t } = useTranslation('account');
  const { me, instance } = useViewer();
  const { data, fault, refresh } = usePageQuery(accountQuery());
  const identities = data?.identities ?? [];
  return (
    <Frame>
      <div className={classes.page}>
        <Title order={1}>{t('title')}</Title>
        <Text c="dimmed" mb="lg">
          {me?.email}
        </Text>
        <Section title={t('person')}>
          <NameForm />
        </Section>
        <Section title={t('preferences')} lead={t('preferences_lead')}>
          <PreferencesForm />
        </Section>
        <Section title={t('shortcuts')}>
          <Shortcuts />
        </Section>
        {instance?.password_sign_in !== false && (
          <Section title={t('password')} lead={t('password_lead')}>
            <PasswordForm onChanged={refresh} />
          </Section>
        )}
        <Section title={t('sessions')} lead={t('sessions_lead')}>
          {data?.sessions ? (
            <Sessions sessions={data.sessions.nodes} onChanged={refresh} />
          ) : fault ? (
            <Failure fault={fault} onRetry={refresh} />
          ) : (
            <Waiting rows={2} />
          )}
        </Section>
        {(instance?.oidc || identities.length > 0) && (
          <Section title={t('identities')} lead={t('identities_lead')}>
            <Identities identities={identities} host={instance?.oidc ?? null} onChanged={refresh} />
          </Section>
        )}
      </div>
    </Frame>
  );
}

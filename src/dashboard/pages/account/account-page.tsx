/** What belongs to the person who is signed in, whatever organisations they are in. */
import { Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { UpdateAccount } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { refreshViewer, useViewer } from '../../lib/viewer.tsx';
import { NameForm } from '../../parts/name-form.tsx';
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

export function AccountPage() {
  const { t } = useTranslation('account');
  const { me, instance } = useViewer();
  const { data, fault, refresh } = usePageQuery(accountQuery());
  const identities = data?.identities ?? [];
  const update = useCommand(UpdateAccount);
  const rename = async (name: string) => {
    const outcome = await update.run({ input: { name } });
    if (!outcome.fault) await refreshViewer();
    return outcome;
  };
  return (
    <Frame>
      <div className={classes.page}>
        <Title order={1}>{t('title')}</Title>
        <Text c="dimmed" mb="lg">
          {me?.email}
        </Text>
        <Section title={t('person')}>
          <NameForm before={me?.name ?? ''} {...update} onSave={rename} hint={t('name_hint')} autoComplete="name" />
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

import { Alert, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Copyable } from '../../parts/copyable.tsx';
import classes from './workflows.module.css';
import type { Trigger } from './workflows-query.ts';

function Step({ title, children }: { title: string; children: ReactNode }) {
  return (
    <li>
      <Text fw={600}>{title}</Text>
      <Text size="sm">{children}</Text>
    </li>
  );
}

/** What to fill in where a code-hosting service asks for a webhook: four values, and what it does after that. */
export function SetupGuide({ trigger }: { trigger: Trigger }) {
  const { t } = useTranslation('workflows');
  return (
    <>
      {trigger.auth_mode !== 'hmac' && <Alert color="yellow">{t('guide_wants_hmac')}</Alert>}
      <ol className={classes.steps}>
        <li>
          <Copyable value={trigger.url ?? ''} label={t('payload_url')} />
        </li>
        <li>
          <Copyable value="application/json" label={t('content_type')} />
        </li>
        <Step title={t('secret')}>{t('guide_secret')}</Step>
        <Step title={t('events')}>{t('guide_events')}</Step>
      </ol>
      <Text size="sm" c="dimmed">
        {t('guide_ping')}
      </Text>
    </>
  );
}

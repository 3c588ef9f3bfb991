import { TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Fault } from '../../../lib/faults.ts';
import { ShownOnce } from '../../../parts/shown-once.tsx';

interface External {
  deploy_webhook_url: string;
  url: string;
}

interface ExternalFieldsProps {
  values: External;
  change: (part: Partial<External>) => void;
  fault: Fault | null;
}

/** Where an external provider is notified of deployments, and where it publishes the site. */
export function ExternalFields({ values, change, fault }: ExternalFieldsProps) {
  const { t } = useTranslation('environment');
  return (
    <>
      <TextInput
        label={t('deploy_webhook_url')}
        description={t('deploy_webhook_url_hint')}
        type="url"
        value={values.deploy_webhook_url}
        onChange={(event) => change({ deploy_webhook_url: event.currentTarget.value })}
        error={fault?.fields.get('/deploy_webhook_url')}
      />
      <TextInput
        label={t('url')}
        description={t('url_hint')}
        type="url"
        value={values.url}
        onChange={(event) => change({ url: event.currentTarget.value })}
        error={fault?.fields.get('/url')}
      />
    </>
  );
}

/** What the provider has to know to check notifications. */
export function HookSecret({ secret, onClose }: { secret: string; onClose: () => void }) {
  const { t } = useTranslation('environment');
  return (
    <ShownOnce title={t('hook_secret_title')} value={secret} label={t('hook_secret')} onClose={onClose}>
      {t('hook_secret_lead')}
    </ShownOnce>
  );
}

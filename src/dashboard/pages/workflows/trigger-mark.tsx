import { useTranslation } from 'react-i18next';
import type { TriggerSecretState } from '../../documents.ts';
import { StateMark } from '../../parts/state-mark.tsx';

/** Whether a trigger starts its workflow, and what is in the way. */
export function TriggerMark({ enabled, secret }: { enabled: boolean; secret: TriggerSecretState | null }) {
  const { t } = useTranslation('workflows');
  if (!enabled) return <StateMark tone="quiet">{t('trigger_off')}</StateMark>;
  if (secret === 'unreadable') return <StateMark tone="bad">{t('secret_unreadable')}</StateMark>;
  if (secret === 'revoked') return <StateMark tone="bad">{t('secret_revoked')}</StateMark>;
  if (secret === 'grace') return <StateMark tone="warn">{t('secret_grace')}</StateMark>;
  return <StateMark tone="good">{t('trigger_on')}</StateMark>;
}

import { useTranslation } from 'react-i18next';
import type { ExecutionStatus } from '../../documents.ts';
import { StateMark, type Tone } from '../../parts/state-mark.tsx';

const tones: Record<ExecutionStatus, Tone> = {
  pending: 'waiting',
  running: 'running',
  paused: 'warn',
  completed: 'good',
  failed: 'bad',
  cancelled: 'quiet',
};

/** @param outcome `skipped`: the condition of the definition did not hold */
export function ExecutionMark({ status, outcome }: { status: ExecutionStatus; outcome?: string | null }) {
  const { t } = useTranslation('workflows');
  if (status === 'completed' && outcome === 'skipped') return <StateMark tone="quiet">{t('skipped')}</StateMark>;
  return <StateMark tone={tones[status]}>{t(status)}</StateMark>;
}

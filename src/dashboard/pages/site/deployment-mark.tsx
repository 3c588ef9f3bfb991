import { useTranslation } from 'react-i18next';
import type { DeploymentConclusion, DeploymentStatus } from '../../documents.ts';
import { StateMark, type Tone } from '../../parts/state-mark.tsx';

const ended: Record<DeploymentConclusion, Tone> = {
  success: 'good',
  failure: 'bad',
  cancelled: 'quiet',
  skipped: 'quiet',
};

interface DeploymentMarkProps {
  status: DeploymentStatus;
  conclusion: DeploymentConclusion | null;
}

/** How a deployment, a job or a step of it stands. */
export function DeploymentMark({ status, conclusion }: DeploymentMarkProps) {
  const { t } = useTranslation('site');
  if (status !== 'completed')
    return <StateMark tone={status === 'queued' ? 'waiting' : 'running'}>{t(status)}</StateMark>;
  return <StateMark tone={ended[conclusion ?? 'skipped']}>{t(conclusion ?? 'skipped')}</StateMark>;
}

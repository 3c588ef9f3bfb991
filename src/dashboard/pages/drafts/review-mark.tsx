import { useTranslation } from 'react-i18next';
import { Mark } from '../../parts/mark.tsx';

const tones = { open: 'accent', merged: 'good', closed: 'plain', not_ready: 'plain', conflicting: 'bad' } as const;

/** Where a review stands, in a word. */
export function ReviewMark({ state }: { state: keyof typeof tones }) {
  const { t } = useTranslation('drafts');
  return <Mark tone={tones[state]}>{t(`state_${state}`)}</Mark>;
}

import { useTranslation } from 'react-i18next';
import { Mark } from '../../parts/mark.tsx';

/** Whether an entry says of itself that it is not to be shown yet. */
export function Status({ isDraft }: { isDraft: boolean }) {
  const { t } = useTranslation('content');
  return <Mark tone={isDraft ? 'warn' : 'good'}>{t(isDraft ? 'status_draft' : 'status_published')}</Mark>;
}

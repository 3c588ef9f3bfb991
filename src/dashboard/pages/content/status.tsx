import { useTranslation } from 'react-i18next';
import classes from './content.module.css';

/** Whether an entry says of itself that it is not to be shown yet. */
export function Status({ isDraft }: { isDraft: boolean }) {
  const { t } = useTranslation('content');
  return (
    <span className={isDraft ? classes.draft : classes.published}>
      {t(isDraft ? 'status_draft' : 'status_published')}
    </span>
  );
}

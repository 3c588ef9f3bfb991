import { useTranslation } from 'react-i18next';
import type { VersionLineFragment } from '../../documents.ts';
import { useFormats } from '../../lib/format.ts';
import { MarkedText } from '../../parts/marked-text.tsx';
import classes from './version-list.module.css';

/** Versions by the first line of what was said about each, the newest first. */
export function VersionList({ versions }: { versions: readonly VersionLineFragment[] }) {
  const { t } = useTranslation('drafts');
  const formats = useFormats();
  return (
    <ol className={classes.list}>
      {versions.map(({ sha, message, author }) => (
        <li key={sha} title={t('commit', { sha: sha.slice(0, 12) })}>
          <span className={classes.message}>
            <MarkedText text={message.split('\n', 1)[0] ?? ''} />
          </span>
          <span className={classes.by}>
            <MarkedText text={author.name} /> · {formats.ago(author.date)}
          </span>
        </li>
      ))}
    </ol>
  );
}

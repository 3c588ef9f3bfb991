import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { VersionLineFragment } from '../documents.ts';
import { useFormats } from '../lib/format.ts';
import { usePlace } from '../lib/place.ts';
import { MarkedText } from './marked-text.tsx';
import classes from './version-list.module.css';

interface VersionListProps {
  versions: readonly VersionLineFragment[];
  /** Names of the collections, whose entries are linked where a version says that it is about one. */
  collections?: readonly string[];
}

/** What the server says by itself of a change to one entry. */
const ofEntry = /^(?:Create|Update|Rename|Restore) ([^/\s]+)\/(\S+)$/;

function Message({ text, collections }: { text: string; collections: readonly string[] }) {
  const { organization, project, draft } = usePlace();
  const [, collection = '', slug = ''] = ofEntry.exec(text) ?? [];
  if (!collections.includes(collection)) return <MarkedText text={text} />;
  return (
    <Link
      to="/p/$organization/$project/content/$collection/$"
      params={{ organization, project, collection, _splat: slug }}
      search={draft === undefined ? {} : { draft }}
    >
      <MarkedText text={text} />
    </Link>
  );
}

/** Versions by the first line of what was said about each, the newest first. */
export function VersionList({ versions, collections = [] }: VersionListProps) {
  const { t } = useTranslation('common');
  const formats = useFormats();
  return (
    <ol className={classes.list}>
      {versions.map(({ sha, message, author }) => (
        <li key={sha} title={t('commit', { sha: sha.slice(0, 12) })}>
          <span className={classes.message}>
            <Message text={message.split('\n', 1)[0] ?? ''} collections={collections} />
          </span>
          <span className={classes.by}>
            <MarkedText text={author.name} /> · {formats.ago(author.date)}
          </span>
        </li>
      ))}
    </ol>
  );
}

import { Link, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { usePlace } from '../../lib/place.ts';
import { MarkedText } from '../../parts/marked-text.tsx';
import classes from './files.module.css';

/** The directories above what is shown, each a link. */
export function Crumbs({ directory, file }: { directory: string; file: string | undefined }) {
  const { t } = useTranslation('files');
  const place = usePlace();
  const names = directory === '' ? [] : directory.split('/');
  const { version } = useSearch({ strict: false });
  const search = { draft: place.draft, version };
  return (
    <nav aria-label={t('path')} className={classes.crumbs}>
      <ol>
        <li>
          <Link to="/p/$organization/$project/files" params={place} search={search}>
            {t('root')}
          </Link>
        </li>
        {names.map((name, at) => (
          <li key={names.slice(0, at + 1).join('/')}>
            <Link
              to="/p/$organization/$project/files/$"
              params={{ ...place, _splat: names.slice(0, at + 1).join('/') }}
              search={search}
            >
              <MarkedText text={name} />
            </Link>
          </li>
        ))}
        {file !== undefined && (
          <li aria-current="page">
            <MarkedText text={file} />
          </li>
        )}
      </ol>
    </nav>
  );
}

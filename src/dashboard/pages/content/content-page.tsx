import { Title } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { usePlace } from '../../lib/place.ts';
import { SearchField } from '../../parts/search-field.tsx';
import { Collections } from './collections.tsx';
import classes from './content.module.css';
import { FoundEntries } from './found-entries.tsx';

/** All content of a project: its collections, or what a search finds in any of them. */
export function ContentPage() {
  const { t } = useTranslation('content');
  const place = usePlace();
  const { q, after, page } = useSearch({ from: '/inside/p/$organization/$project/content' });
  const navigate = useNavigate();
  const search = (words: string) =>
    navigate({ to: '.', search: ({ draft }) => ({ draft, q: words === '' ? undefined : words }), replace: true });
  return (
    <>
      <Title order={1}>{t('title')}</Title>
      <div className={classes.toolbar}>
        <SearchField label={t('search_all')} value={q ?? ''} onSearch={search} />
      </div>
      {q === undefined ? <Collections place={place} /> : <FoundEntries place={place} search={{ q, after, page }} />}
    </>
  );
}

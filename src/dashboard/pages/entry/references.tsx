import { Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { EntryReferences } from '../../documents.ts';
import { useCollectionLabel } from '../../parts/entry-name.tsx';
import { Waiting } from '../../shell/states.tsx';
import classes from './panel.module.css';
import type { Target } from './save.ts';

interface Row {
  collection: string;
  /** null: there is no such entry */
  slug: string | null;
  title: string | null;
  id?: string;
  field: string;
  label: string;
}

function Entries({ rows, target, empty }: { rows: readonly Row[]; target: Target; empty: string }) {
  const { t } = useTranslation('entry');
  const labelOf = useCollectionLabel();
  const { organization, project, draft } = target.place;
  if (rows.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {empty}
      </Text>
    );
  return (
    <ul className={classes.rows}>
      {rows.map(({ collection, slug, title, id, field, label }) => (
        <li key={`${collection}/${slug ?? id}${field}`}>
          {slug === null ? (
            <span className={classes.row}>
              <span dir="auto">{id}</span>
              <small>{t('reference_broken', { field: label })}</small>
            </span>
          ) : (
            <Link
              className={classes.row}
              to="/p/$organization/$project/content/$collection/$"
              params={{ organization, project, collection, _splat: slug }}
              search={draft === undefined ? {} : { draft }}
            >
              <span dir="auto">{title ?? slug}</span>
              <small title={field}>
                {label} · {labelOf(collection)} / {slug}
              </small>
            </Link>
          )}
        </li>
      ))}
    </ul>
  );
}

/** What names this entry, and what it names. */
export function References({ target }: { target: Target }) {
  const { t } = useTranslation('entry');
  const { place, collection, slug, branch } = target;
  const { organization, project } = place;
  const [{ data, fetching }] = useQuery({
    query: EntryReferences,
    variables: { organization, project, collection, slug: slug ?? '', branch: branch?.name ?? null },
    requestPolicy: 'cache-and-network',
  });
  const entry = data?.project?.studio?.entry;
  if (!entry) return fetching ? <Waiting rows={6} /> : <Text c="dimmed">{t('nothing_found')}</Text>;
  return (
    <Stack>
      <section>
        <Title order={2} size="h3">
          {t('used_by', { count: entry.referenced_by?.total_count ?? 0 })}
        </Title>
        <Entries rows={entry.referenced_by?.nodes ?? []} target={target} empty={t('used_nowhere')} />
      </section>
      <section>
        <Title order={2} size="h3">
          {t('uses')}
        </Title>
        <Entries rows={entry.references ?? []} target={target} empty={t('uses_nothing')} />
      </section>
      <section>
        <Title order={2} size="h3">
          {t('files_shown')}
        </Title>
        {(entry.media ?? []).length === 0 ? (
          <Text size="sm" c="dimmed">
            {t('no_files')}
          </Text>
        ) : (
          <ul className={classes.rows}>
            {entry.media?.map(({ path }) => (
              <li key={path} className={classes.row}>
                <span dir="auto">{path}</span>
              </li>
            ))}
          </ul>
        )}
      </section>
    </Stack>
  );
}

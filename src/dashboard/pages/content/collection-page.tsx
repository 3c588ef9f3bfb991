import { Button, Title } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CollectionEntryFragment, CollectionFieldFragment } from '../../documents.ts';
import { useLive } from '../../lib/live.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { usePlace } from '../../lib/place.ts';
import { useCan } from '../../lib/viewer.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { projectQuery } from '../../shell/project-query.ts';
import { Failure, Notice } from '../../shell/states.tsx';
import { useColumns } from './columns.ts';
import classes from './content.module.css';
import { collectionQuery, fieldsQuery } from './content-query.ts';
import { EntryTable } from './entry-table.tsx';
import { Pages } from './pages.tsx';
import type { CollectionSearch } from './search-params.ts';
import { mostSelected, type Selection, select } from './selection.ts';
import { WaitingRows } from './table-parts.tsx';
import { Toolbar } from './toolbar.tsx';

const BulkBar = lazy(async () => ({ default: (await import('./bulk-bar.tsx')).BulkBar }));

/** The same list at each render. */
const none: readonly CollectionFieldFragment[] = [];

const isFiltered = ({ q, status, locale, invalid, filter }: CollectionSearch): boolean =>
  [q, status, locale, invalid, filter].some((each) => each !== undefined);

/** The entries of a collection: found, sorted, chosen, and changed together. */
export function CollectionPage() {
  const { collection } = useParams({ from: '/inside/p/$organization/$project/content/$collection' });
  const { draft } = usePlace();
  // What is selected, and what a dialog holds, belongs to one collection in one version.
  return <CollectionEntries key={`${draft ?? ''}:${collection}`} collection={collection} />;
}

function CollectionEntries({ collection }: { collection: string }) {
  const { t } = useTranslation('content');
  const place = usePlace();
  const search = useSearch({ from: '/inside/p/$organization/$project/content/$collection' });
  const navigate = useNavigate();
  const can = useCan(place.organization, place.project);
  const { columns, choose } = useColumns(place, collection);
  const { data, fault, refresh } = usePageQuery(collectionQuery(place, collection, search, columns));
  const { data: described } = usePageQuery(fieldsQuery(place, collection));
  const fields = described?.project?.studio?.collection?.schema?.fields ?? none;
  const { data: frame } = usePageQuery(projectQuery(place));
  const [selection, setSelection] = useState<Selection>(new Map());
  const onSelect = useCallback(
    (chosen: readonly CollectionEntryFragment[], isSelected: boolean) =>
      setSelection((before) => select(before, chosen, isSelected)),
    [],
  );
  const branch = place.draft ?? frame?.project?.studio?.repository?.default_branch;
  useLive(branch === undefined ? [] : [`branch:${branch}`], refresh);

  const found = data?.project?.studio?.collection;
  const entries = found?.entries;
  const change = (part: Partial<CollectionSearch>) => {
    setSelection(new Map());
    navigate({
      to: '.',
      search: (before) => ({ ...before, ...part, after: undefined, page: undefined }),
      replace: part.q !== undefined && search.q !== undefined,
    });
  };
  const create = () =>
    navigate({
      to: '/p/$organization/$project/new/$collection',
      params: { ...place, collection },
      search: { draft: place.draft },
    });
  const newEntry = can('edit_studio') && (
    <Button leftSection={<IconPlus size={16} />} onClick={create}>
      {t('new_entry')}
    </Button>
  );
  if (!found && fault) return <Failure fault={fault} onRetry={refresh} order={1} />;
  return (
    <>
      <header className={classes.header}>
        <Title order={1} dir="auto" className={classes.title}>
          <MarkedText text={found?.label ?? collection} />
        </Title>
        {newEntry}
      </header>
      {selection.size > 0 && found ? (
        <Suspense fallback={<div className={classes.toolbar} />}>
          <BulkBar
            place={place}
            collection={collection}
            fields={fields}
            selection={selection}
            onClear={() => setSelection(new Map())}
          />
        </Suspense>
      ) : (
        <Toolbar
          place={place}
          collection={collection}
          onShow={(look) => {
            setSelection(new Map());
            if (look.columns) choose(look.columns);
            navigate({ to: '.', search: ({ draft }) => ({ draft, ...look.search }) });
          }}
          search={search}
          onChange={change}
          fields={fields}
          invalid={found?.invalid_count ?? 0}
          entries={entries?.nodes ?? []}
          columns={columns}
          onColumns={choose}
        />
      )}
      {fault && found && !entries && (
        <Notice
          title={t('not_listed')}
          role="alert"
          action={
            <Button variant="default" onClick={() => navigate({ to: '.', search: ({ draft }) => ({ draft }) })}>
              {t('remove_filters')}
            </Button>
          }
        >
          {fault.message}
        </Notice>
      )}
      {!found && !fault && <WaitingRows />}
      {entries?.total_count === 0 &&
        (isFiltered(search) ? (
          <Notice
            title={t('nothing_found')}
            role="status"
            action={
              <Button variant="default" onClick={() => navigate({ to: '.', search: ({ draft }) => ({ draft }) })}>
                {t('remove_filters')}
              </Button>
            }
          >
            {t('nothing_matches')}
          </Notice>
        ) : (
          <Notice title={t('empty')}>{t(can('edit_studio') ? 'empty_lead' : 'empty_lead_read')}</Notice>
        ))}
      {found && entries && entries.total_count > 0 && (
        <>
          <EntryTable
            place={place}
            collection={collection}
            label={found.label}
            fields={fields}
            entries={entries.nodes}
            columns={columns}
            total={entries.total_count}
            sort={search.sort}
            onSort={(sort) => change({ sort })}
            selection={can('edit_studio') ? selection : null}
            onSelect={onSelect}
          />
          {selection.size >= mostSelected && (
            <p className={classes.count} role="status">
              {t('most_selected', { count: mostSelected })}
            </p>
          )}
          <Pages
            total={entries.total_count}
            shown={entries.nodes.length}
            page={search.page ?? 1}
            after={search.after}
            next={entries.page_info.has_next_page ? entries.page_info.end_cursor : null}
          />
        </>
      )}
    </>
  );
}

import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useFormats } from '../../lib/format.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import type { Place } from '../../lib/place.ts';
import { Failure, Notice } from '../../shell/states.tsx';
import classes from './content.module.css';
import { contentQuery } from './content-query.ts';
import { cells, row, rows, WaitingRows } from './table-parts.tsx';

/** The collections with what they hold, and what is wrong in them. */
export function Collections({ place }: { place: Place }) {
  const { t } = useTranslation('content');
  const { number } = useFormats();
  const { data, fault, refresh } = usePageQuery(contentQuery(place));
  const collections = data?.project?.studio?.collections?.nodes;
  if (!collections) return fault ? <Failure fault={fault} onRetry={refresh} /> : <WaitingRows />;
  if (collections.length === 0)
    return (
      <Notice
        title={t('no_collections')}
        action={
          <Button renderRoot={(props) => <Link to="/p/$organization/$project/settings" params={place} {...props} />}>
            {t('to_settings')}
          </Button>
        }
      >
        {t('no_collections_lead')}
      </Notice>
    );
  return (
    <div className={classes.frame}>
      <table className={classes.table} aria-label={t('collections')} {...cells.table}>
        <thead {...rows}>
          <tr {...row}>
            <th scope="col" {...cells.header}>
              {t('collection')}
            </th>
            <th scope="col" {...cells.header} className={classes.number}>
              {t('entries')}
            </th>
            <th scope="col" {...cells.header} className={classes.wide}>
              {t('faults')}
            </th>
            <th scope="col" {...cells.header}>
              {t('folder')}
            </th>
          </tr>
        </thead>
        <tbody {...rows}>
          {collections.map(({ name, label, kind, path, entries_count, invalid_count, schema }) => {
            const params = { ...place, collection: name };
            return (
              <tr key={name} {...row}>
                <td {...cells.cell} className={classes.main}>
                  <Link
                    to="/p/$organization/$project/content/$collection"
                    params={params}
                    search={{ draft: place.draft }}
                    dir="auto"
                  >
                    {label}
                  </Link>
                  {kind !== 'page' && (
                    <span className={classes.soft} title={t(`kind_${kind}_title`)}>
                      {' · '}
                      {t(`kind_${kind}`)}
                    </span>
                  )}
                </td>
                <td {...cells.cell} className={classes.number}>
                  <span className={classes.narrowOnly}>{t('entries')} </span>
                  {number(entries_count)}
                </td>
                <td {...cells.cell} className={classes.fact}>
                  <span className={classes.narrowOnly}>{t('faults')} </span>
                  {invalid_count > 0 ? (
                    <Link
                      to="/p/$organization/$project/content/$collection"
                      params={params}
                      search={{ draft: place.draft, invalid: true }}
                      className={classes.bad}
                    >
                      {t('invalid_entries', { count: invalid_count })}
                    </Link>
                  ) : (
                    <span className={classes.soft}>{t('no_faults')}</span>
                  )}
                </td>
                <td {...cells.cell} className={classes.soft}>
                  <bdi>{path === '' ? '/' : path}</bdi>
                  {schema?.inferred && <span title={t('inferred_title')}> · {t('inferred')}</span>}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

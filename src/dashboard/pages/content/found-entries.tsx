import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { usePageQuery } from '../../lib/page-query.ts';
import type { Place } from '../../lib/place.ts';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Failure, Notice } from '../../shell/states.tsx';
import classes from './content.module.css';
import { contentSearchQuery } from './content-query.ts';
import { Pages } from './pages.tsx';
import type { ContentSearchParams } from './search-params.ts';
import { Status } from './status.tsx';
import { cells, row, rows, WaitingRows } from './table-parts.tsx';

/** What a search finds in all collections. */
export function FoundEntries({ place, search }: { place: Place; search: ContentSearchParams }) {
  const { t } = useTranslation('content');
  const { data, fault, refresh } = usePageQuery(contentSearchQuery(place, search));
  const found = data?.project?.studio?.search;
  if (!found) return fault ? <Failure fault={fault} onRetry={refresh} /> : <WaitingRows />;
  const { nodes, total_count, page_info } = found;
  return (
    <>
      <p className={classes.count} role="status">
        {t('found', { count: total_count })}
      </p>
      {nodes.length === 0 ? (
        <Notice title={t('nothing_found')}>{t('nothing_found_lead')}</Notice>
      ) : (
        <div className={classes.frame}>
          <table className={classes.table} aria-label={t('entries')} {...cells.table}>
            <thead {...rows}>
              <tr {...row}>
                <th scope="col" {...cells.header}>
                  {t('column_title')}
                </th>
                <th scope="col" {...cells.header} className={classes.wide}>
                  {t('collection')}
                </th>
                <th scope="col" {...cells.header} className={classes.medium}>
                  {t('status')}
                </th>
                <th scope="col" {...cells.header} className={classes.medium}>
                  {t('language')}
                </th>
              </tr>
            </thead>
            <tbody {...rows}>
              {nodes.map(({ slug, title, path, draft, locale, collection }) => (
                <tr key={path} {...row}>
                  <td {...cells.cell} className={classes.main}>
                    <Link
                      to="/p/$organization/$project/content/$collection/$"
                      params={{ ...place, collection: collection?.name ?? '', _splat: slug }}
                      search={{ draft: place.draft }}
                      title={slug}
                      dir="auto"
                    >
                      <MarkedText text={title} />
                    </Link>
                  </td>
                  <td {...cells.cell} className={classes.soft}>
                    {collection?.label}
                  </td>
                  <td {...cells.cell}>
                    <Status isDraft={draft} />
                  </td>
                  <td {...cells.cell} className={classes.soft}>
                    {locale?.toUpperCase()}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Pages
        total={total_count}
        shown={nodes.length}
        page={search.page ?? 1}
        after={search.after}
        next={page_info.has_next_page ? page_info.end_cursor : null}
      />
    </>
  );
}

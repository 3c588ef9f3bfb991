/** What waits for a person, each with the way to it. */
import { Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { HomeQuery } from '../../documents.ts';
import { useFormats } from '../../lib/format.ts';
import { usePlace } from '../../lib/place.ts';
import { Mark } from '../../parts/mark.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Row, Rows } from '../../parts/rows.tsx';

export function Needs({ project: found }: { project: NonNullable<HomeQuery['project']> }) {
  const { t } = useTranslation('home');
  const { organization, project, draft } = usePlace();
  const formats = useFormats();
  const params = { organization, project };
  const search = draft === undefined ? {} : { draft };
  const { dead_letters, studio } = found;
  const reviews = studio.pulls?.nodes ?? [];
  const more = (studio.pulls?.total_count ?? 0) - reviews.length;
  const invalid = studio.collections?.nodes.filter(({ invalid_count }) => invalid_count > 0) ?? [];
  const failed = studio.environments?.nodes.filter((at) => at.latest_deployment?.conclusion === 'failure') ?? [];
  const diverged = studio.repository?.diverged ?? [];
  const dead = dead_letters?.total_count ?? 0;
  if (reviews.length + invalid.length + failed.length + diverged.length + dead === 0)
    return <Text c="dimmed">{t('nothing')}</Text>;
  return (
    <Rows label={t('needs')}>
      {reviews.map(({ number, title, author, updated_at, head, mergeable, draft }) => (
        <Row
          key={`review ${number}`}
          title={
            <Link
              to="/p/$organization/$project/drafts/reviews/$number"
              params={{ ...params, number: String(number) }}
              search={{ draft: head.ref }}
            >
              <MarkedText text={title} />
            </Link>
          }
          marks={
            mergeable === false ? <Mark tone="bad">{t('conflicts')}</Mark> : draft && <Mark>{t('not_ready')}</Mark>
          }
          detail={
            <>
              {t('review', { number })} · <MarkedText text={author.name} /> · {formats.ago(updated_at)}
            </>
          }
        />
      ))}
      {more > 0 && (
        <Row
          title={
            <Link to="/p/$organization/$project/drafts" params={params} search={{ ...search, tab: 'reviews' }}>
              {t('more_reviews', { count: more })}
            </Link>
          }
        />
      )}
      {failed.map(({ id, name }) => (
        <Row
          key={`environment ${id}`}
          title={
            <Link to="/p/$organization/$project/site" params={params} search={search}>
              <MarkedText text={t('deployment_failed', { name })} />
            </Link>
          }
        />
      ))}
      {diverged.map(({ branch }) => (
        <Row
          key={`branch ${branch}`}
          title={
            <Link to="/p/$organization/$project/settings" params={params} search={search}>
              <MarkedText text={t('diverged', { branch })} />
            </Link>
          }
          marks={<Mark tone="warn">{t('conflicts')}</Mark>}
        />
      ))}
      {invalid.map(({ name, label, invalid_count }) => (
        <Row
          key={`collection ${name}`}
          title={
            <Link
              to="/p/$organization/$project/content/$collection"
              params={{ ...params, collection: name }}
              search={{ ...search, invalid: true }}
            >
              {t('invalid', { count: invalid_count, label })}
            </Link>
          }
        />
      ))}
      {dead > 0 && (
        <Row
          title={
            <Link to="/p/$organization/$project/workflows" params={params} search={search}>
              {t('dead_letters', { count: dead })}
            </Link>
          }
        />
      )}
    </Rows>
  );
}

import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { ReviewRowFragment } from '../../documents.ts';
import { useFormats } from '../../lib/format.ts';
import { usePlace } from '../../lib/place.ts';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Notice } from '../../shell/states.tsx';
import classes from './list.module.css';

function stateOf({ state, draft, mergeable }: ReviewRowFragment) {
  if (state !== 'open') return state;
  if (draft) return 'not_ready';
  return mergeable === false ? 'conflicting' : 'open';
}

interface ReviewListProps {
  reviews: readonly ReviewRowFragment[];
  state: 'open' | 'merged' | 'closed';
}

export function ReviewList({ reviews, state }: ReviewListProps) {
  const { t } = useTranslation('drafts');
  const { organization, project } = usePlace();
  const formats = useFormats();
  if (reviews.length === 0) return <Notice title={t(`no_reviews_${state}`)}>{t('no_reviews_lead')}</Notice>;
  return (
    <table className={classes.table}>
      <thead>
        <tr>
          {(['name', 'draft', 'author', 'changed', 'state'] as const).map((column) => (
            <th key={column} scope="col">
              {t(column)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {reviews.map((review) => (
          <tr key={review.number}>
            <th scope="row" className={classes.name}>
              <Link
                to="/p/$organization/$project/drafts/reviews/$number"
                params={{ organization, project, number: String(review.number) }}
                search={review.state === 'open' ? { draft: review.head.ref } : {}}
              >
                <MarkedText text={review.title} /> <span className={classes.soft}>#{review.number}</span>
              </Link>
            </th>
            <td data-label={t('draft')}>
              <MarkedText text={review.head.ref} />
            </td>
            <td data-label={t('author')}>
              <MarkedText text={review.author.name} />
            </td>
            <td data-label={t('changed')} title={formats.time(review.updated_at)}>
              {formats.ago(review.updated_at)}
            </td>
            <td data-label={t('state')} data-state={stateOf(review)}>
              {t(`state_${stateOf(review)}`)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { ReviewRowFragment } from '../../documents.ts';
import { useFormats } from '../../lib/format.ts';
import { usePlace } from '../../lib/place.ts';
import { List, ListRow } from '../../parts/list.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Notice } from '../../shell/states.tsx';
import { ReviewMark } from './review-mark.tsx';

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
    <List
      label={t('reviews')}
      columns={(['name', 'draft', 'author', 'changed', 'state'] as const).map((column) => t(column))}
    >
      {reviews.map((review) => (
        <ListRow
          key={review.number}
          cells={[
            <Link
              key="name"
              to="/p/$organization/$project/drafts/reviews/$number"
              params={{ organization, project, number: String(review.number) }}
              search={review.state === 'open' ? { draft: review.head.ref } : {}}
            >
              <MarkedText text={`${review.title} #${review.number}`} />
            </Link>,
            <MarkedText key="draft" text={review.head.ref} />,
            <MarkedText key="author" text={review.author.name} />,
            <span key="changed" title={formats.time(review.updated_at)}>
              {formats.ago(review.updated_at)}
            </span>,
            <ReviewMark key="state" state={stateOf(review)} />,
          ]}
        />
      ))}
    </List>
  );
}

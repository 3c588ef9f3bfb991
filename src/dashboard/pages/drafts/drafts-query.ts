import { Drafts, type DraftsQuery, type DraftsQueryVariables } from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';
import type { Place } from '../../lib/place.ts';

/** What the address of the list says. */
export interface DraftsSearch {
  tab?: 'drafts' | 'reviews' | undefined;
  /** Of the reviews. */
  state?: 'open' | 'merged' | 'closed' | undefined;
  q?: string | undefined;
  after?: string | undefined;
}

export const draftsQuery = (
  { organization, project }: Pick<Place, 'organization' | 'project'>,
  { tab = 'drafts', state = 'open', q, after }: DraftsSearch,
): PageQuery<DraftsQuery, DraftsQueryVariables> => ({
  query: Drafts,
  variables: { organization, project, q: q || null, after: after ?? null, state, are_drafts: tab === 'drafts' },
});

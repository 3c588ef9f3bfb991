import {
  DraftChanges,
  type DraftChangesQuery,
  type DraftChangesQueryVariables,
  Review,
  type ReviewQuery,
  type ReviewQueryVariables,
} from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';
import type { Place } from '../../lib/place.ts';

type Project = Pick<Place, 'organization' | 'project'>;

export const reviewQuery = (
  { organization, project }: Project,
  number: string,
): PageQuery<ReviewQuery, ReviewQueryVariables> => ({
  query: Review,
  variables: { organization, project, number: Number(number) },
});

export const draftChangesQuery = (
  { organization, project }: Project,
  draft: string | undefined,
): PageQuery<DraftChangesQuery, DraftChangesQueryVariables> => ({
  query: DraftChanges,
  variables: { organization, project, branch: draft ?? '' },
});

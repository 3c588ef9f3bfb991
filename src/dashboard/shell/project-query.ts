import {
  type FollowingEnvironmentFragment,
  ProjectFrame,
  type ProjectFrameQuery,
  type ProjectFrameQueryVariables,
  ShownDrafts,
  type ShownDraftsQuery,
  type ShownDraftsQueryVariables,
} from '../documents.ts';
import type { PageQuery } from '../lib/client.ts';
import { usePageQuery } from '../lib/page-query.ts';
import type { Place } from '../lib/place.ts';

/** What stands around each page of a project: its name, its drafts, its collections. */
export const projectQuery = ({
  organization,
  project,
  draft,
}: Place): PageQuery<ProjectFrameQuery, ProjectFrameQueryVariables> => ({
  query: ProjectFrame,
  variables: { organization, project, draft: draft ?? null, branch: draft ?? '', is_draft: draft !== undefined },
});

/** Previews of drafts, which come on top of as many environments as a page of a list holds; the frame does not wait for them. */
export const shownDraftsQuery = ({
  organization,
  project,
}: Omit<Place, 'draft'>): PageQuery<ShownDraftsQuery, ShownDraftsQueryVariables> => ({
  query: ShownDrafts,
  variables: { organization, project },
});

interface Environments {
  environments: FollowingEnvironmentFragment[];
  /** There are no others. */
  isComplete: boolean;
}

/** All environments of a project, its own first. */
export function useEnvironments(place: Place): Environments {
  const lists = [usePageQuery(projectQuery(place)).data, usePageQuery(shownDraftsQuery(place)).data];
  const found = lists.map((data) => data?.project?.studio.environments);
  return {
    environments: found.flatMap((list) => list?.nodes ?? []),
    isComplete: found.every((list) => list != null),
  };
}

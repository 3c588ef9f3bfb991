import { ProjectFrame, type ProjectFrameQuery, type ProjectFrameQueryVariables } from '../documents.ts';
import type { PageQuery } from '../lib/client.ts';
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

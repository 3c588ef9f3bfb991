import {
  DeletedMediaPage,
  type DeletedMediaPageQuery,
  type DeletedMediaPageQueryVariables,
  MediaPage,
  type MediaPageQuery,
  type MediaPageQueryVariables,
} from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';
import type { Place } from '../../lib/place.ts';

/** What the address of the page says. */
export interface MediaSearch {
  /** Directory; undefined: all places where the site keeps its files. */
  path?: string | undefined;
  /** Part of the path, in all directories below. */
  q?: string | undefined;
  after?: string | undefined;
}

export const mediaQuery = (
  { organization, project, draft }: Place,
  { path, q, after }: MediaSearch,
): PageQuery<MediaPageQuery, MediaPageQueryVariables> => ({
  query: MediaPage,
  variables: {
    ...{ organization, project, branch: draft ?? null, path: path ?? null, q: q || null, after: after ?? null },
    draft: draft ?? '',
    is_draft: draft !== undefined,
    is_search: Boolean(q),
  },
});

/** @param after cursor of the page */
export const deletedMediaQuery = (
  { organization, project, draft }: Place,
  after: string | undefined,
): PageQuery<DeletedMediaPageQuery, DeletedMediaPageQueryVariables> => ({
  query: DeletedMediaPage,
  variables: {
    ...{ organization, project, branch: draft ?? null, after: after ?? null },
    draft: draft ?? '',
    is_draft: draft !== undefined,
  },
});

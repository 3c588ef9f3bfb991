import {
  CollectionFields,
  type CollectionFieldsQuery,
  type CollectionFieldsQueryVariables,
  CollectionPage,
  type CollectionPageQuery,
  type CollectionPageQueryVariables,
  ContentPage,
  type ContentPageQuery,
  type ContentPageQueryVariables,
  ContentSearch,
  type ContentSearchQuery,
  type ContentSearchQueryVariables,
} from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';
import type { Place } from '../../lib/place.ts';
import { isBuiltIn } from './columns.ts';
import type { CollectionSearch, ContentSearchParams } from './search-params.ts';

export const contentQuery = ({
  organization,
  project,
  draft,
}: Place): PageQuery<ContentPageQuery, ContentPageQueryVariables> => ({
  query: ContentPage,
  variables: { organization, project, draft: draft ?? null },
});

export const contentSearchQuery = (
  { organization, project, draft }: Place,
  { q, after }: ContentSearchParams,
): PageQuery<ContentSearchQuery, ContentSearchQueryVariables> => ({
  query: ContentSearch,
  variables: { organization, project, draft: draft ?? null, q: q ?? '', after: after ?? null },
});

/** @param columns what the table shows: nothing else is read */
export const collectionQuery = (
  { organization, project, draft }: Place,
  collection: string,
  { q, sort, status, locale, invalid, filter, after }: CollectionSearch,
  columns: readonly string[],
): PageQuery<CollectionPageQuery, CollectionPageQueryVariables> => ({
  query: CollectionPage,
  variables: {
    organization,
    project,
    draft: draft ?? null,
    collection,
    fields: columns.filter((name) => !isBuiltIn(name)),
    withUpdated: columns.includes('@updated'),
    withLanguage: columns.includes('@language'),
    q: q ?? null,
    sort: sort === undefined ? null : [sort],
    status: status === undefined ? null : status === 'draft' ? 'only' : 'without',
    locale: locale ?? null,
    invalid: invalid ?? null,
    filter: filter ?? null,
    after: after ?? null,
  },
});

/** Fields of a collection's entries: for filters, columns and changes, which the first look at the table does not wait for. */
export const fieldsQuery = (
  { organization, project, draft }: Place,
  collection: string,
): PageQuery<CollectionFieldsQuery, CollectionFieldsQueryVariables> => ({
  query: CollectionFields,
  variables: { organization, project, draft: draft ?? null, collection },
});

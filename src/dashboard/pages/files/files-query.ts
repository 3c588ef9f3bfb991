import { FilesPage, type FilesPageQuery, type FilesPageQueryVariables } from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';
import type { Place } from '../../lib/place.ts';

/** One directory, and a file of it. @param directory path, empty for the root; @param file name of an open file */
export const filesQuery = (
  { organization, project, draft }: Place,
  directory: string,
  file: string | undefined,
): PageQuery<FilesPageQuery, FilesPageQueryVariables> => ({
  query: FilesPage,
  variables: {
    organization,
    project,
    draft: draft ?? null,
    directory,
    path: [directory, file].filter(Boolean).join('/'),
    isFile: file !== undefined,
  },
});

import { FilesPage, type FilesPageQuery, type FilesPageQueryVariables } from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';
import type { Place } from '../../lib/place.ts';

/** What the address says beside the directory. */
export interface FilesSearch {
  /** Name of an open file. */
  file?: string | undefined;
  /** It is edited. */
  edit?: boolean | undefined;
  /** A new file is being written. */
  new?: boolean | undefined;
  /** Commit at which the files are read; they are not edited then. */
  version?: string | undefined;
}

/** One directory, and a file of it. @param directory path, empty for the root */
export const filesQuery = (
  { organization, project, draft }: Place,
  directory: string,
  { file, version, ...wanted }: FilesSearch,
): PageQuery<FilesPageQuery, FilesPageQueryVariables> => {
  const isEdited = version === undefined && (wanted.edit === true || wanted.new === true);
  return {
    query: FilesPage,
    variables: {
      organization,
      project,
      draft: version === undefined ? (draft ?? null) : null,
      ref: version ?? null,
      draftName: draft ?? '',
      isDraft: draft !== undefined && isEdited,
      directory,
      path: [directory, file].filter(Boolean).join('/'),
      isFile: file !== undefined,
      isEdited,
    },
  };
};

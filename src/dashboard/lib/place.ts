import { useParams, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';

/** Where a page of a project is. */
export interface Place {
  organization: string;
  project: string;
  /** Branch of the draft; undefined: the published version. */
  draft: string | undefined;
}

/** Organisation, project and draft of the address, the same object while they are the same; only below a project's pages. */
export function usePlace(): Place {
  const { organization, project } = useParams({ from: '/inside/p/$organization/$project' });
  const { draft } = useSearch({ from: '/inside/p/$organization/$project' });
  return useMemo(() => ({ organization, project, draft }), [organization, project, draft]);
}

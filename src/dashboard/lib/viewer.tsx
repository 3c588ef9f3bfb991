import { createContext, type ReactNode, use, useEffect } from 'react';
import { type Permission, Viewer, type ViewerQuery } from '../documents.ts';
import { client } from './client.ts';
import type { Fault } from './faults.ts';
import { usePageQuery } from './page-query.ts';

const ViewerContext = createContext<ViewerQuery | null>(null);

interface ViewerProviderProps {
  children: ReactNode;
  /** What stands for all pages when there is no answer. */
  failed: (fault: Fault, retry: () => void) => ReactNode;
}

/** Asks once who is signed in; the pages below begin when it is known. */
export function ViewerProvider({ children, failed }: ViewerProviderProps) {
  const { data, fault, refresh } = usePageQuery({ query: Viewer, variables: {} });
  // The refusal has removed the cookie of a session that has ended: the next answer is for a browser without one.
  const hasEnded = fault?.code === 'UNAUTHENTICATED';
  useEffect(() => {
    if (hasEnded) refresh();
  }, [hasEnded, refresh]);
  if (data) return <ViewerContext value={data}>{children}</ViewerContext>;
  return fault && !hasEnded ? failed(fault, refresh) : null;
}

/** Asks again, after a command whose answer does not say what it changed of it. */
export const refreshViewer = (): Promise<unknown> =>
  client.query(Viewer, {}, { requestPolicy: 'network-only' }).toPromise();

/** Who is signed in (`me`, null without a session), and what the server offers for it (`instance`). */
export function useViewer(): ViewerQuery {
  const viewer = use(ViewerContext);
  if (!viewer) throw new Error('useViewer() outside of ViewerProvider');
  return viewer;
}

/** What the person may do in a project, or in an organisation as a whole when none is named. */
export function useCan(organization: string, project?: string): (permission: Permission) => boolean {
  const grant = useViewer().me?.grants.find((grant) => grant.organization === organization);
  const reaches =
    grant !== undefined && (grant.projects === null || (project !== undefined && grant.projects.includes(project)));
  return (permission) => reaches && grant.permissions.includes(permission);
}

import { createContext, type ReactNode, use } from 'react';
import { useQuery } from 'urql';
import { type Permission, Viewer, type ViewerQuery } from '../documents.ts';
import { client } from './client.ts';

const ViewerContext = createContext<ViewerQuery | null>(null);

/** Asks once who is signed in; the pages below begin when it is known. */
export function ViewerProvider({ children, waiting }: { children: ReactNode; waiting: ReactNode }) {
  const [{ data }] = useQuery({ query: Viewer });
  return data ? <ViewerContext value={data}>{children}</ViewerContext> : waiting;
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

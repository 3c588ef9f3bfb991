/** Which page of which deployment shows an entry, with its pieces, and a link that opens it for editing. */
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { type FollowingEnvironmentFragment, PageEditor, PagePieces, type PagePiecesQuery } from '../../../documents.ts';
import type { FormPlace } from '../../../fields/form.tsx';
import { client } from '../../../lib/client.ts';
import { faultOf } from '../../../lib/faults.ts';
import { usePageQuery } from '../../../lib/page-query.ts';
import { usePlace } from '../../../lib/place.ts';
import { projectQuery, useEnvironments } from '../../../shell/project-query.ts';

type Annotations = NonNullable<
  NonNullable<NonNullable<NonNullable<PagePiecesQuery['project']>['studio']>['deployment']>['annotations']
>;

export interface SitePage {
  deployment: number;
  annotations: Annotations;
  /** Opens it once, for editing. */
  url: string;
}

/** Milliseconds after which a page that could not be read is tried again. */
const pause = 5_000;

/** Why there is no page to edit. */
type Absence =
  | 'no_address'
  | 'no_environment'
  | 'not_deployed'
  | 'no_page'
  | 'not_embeddable'
  | 'too_large'
  | 'not_read';

/** What an address of a deployment shows. */
export async function readPage(
  { organization, project }: Pick<FormPlace, 'organization' | 'project'>,
  deployment: number,
  url: string,
): Promise<Annotations | Absence> {
  const variables = { organization, project, deployment, url };
  const { data, error } = await client.query(PagePieces, variables, { requestPolicy: 'network-only' }).toPromise();
  const found = data?.project?.studio?.deployment?.annotations;
  if (found) return found;
  const fault = error && faultOf(error);
  if (!fault || fault.code === 'NOT_FOUND') return 'no_page';
  return fault.reason === 'too_large' ? 'too_large' : 'not_read';
}

async function openPage(place: FormPlace, deployment: number, url: string): Promise<SitePage | Absence> {
  const annotations = await readPage(place, deployment, url);
  if (typeof annotations === 'string') return annotations;
  const { organization, project } = place;
  const variables = { organization, project, deployment, path: annotations.url };
  const { data } = await client.query(PageEditor, variables, { requestPolicy: 'network-only' }).toPromise();
  const link = data?.project?.studio?.deployment?.editor;
  if (!link) return 'not_read';
  return link.embeddable ? { deployment, annotations, url: link.url } : 'not_embeddable';
}

export interface ShownPage {
  /** The one that shows the branch; undefined: none does, or it is not known yet. */
  environment: FollowingEnvironmentFragment | undefined;
  page: SitePage | null;
  /** Null while it is not known, too. */
  absence: Absence | null;
  /** Looks again for what was deployed. */
  refresh: () => void;
  /** Opens the page again. */
  reload: () => void;
  /** Reads the pieces of the page that is shown again, by the version that the branch has now. */
  reread: () => void;
}

/**
 * The page of an entry on the environment of a branch; a newer deployment takes its place.
 * @param url address of the entry on its site; null: it has none
 */
export function useShownPage(place: FormPlace, branch: string, url: string | null): ShownPage {
  // The frame of the project follows what is deployed.
  const at = usePlace();
  const { data, fault, refresh } = usePageQuery(projectQuery(at));
  const { environments, isComplete } = useEnvironments(at);
  const following = environments.filter((one) => one.branch?.name === branch);
  const environment = following.find((one) => one.published_deployment_id !== null) ?? following[0];
  const published = environment?.published_deployment_id ?? null;
  const [found, setFound] = useState<(SitePage & { of: string }) | Absence | null>(null);
  /** Counts the attempts: only the last one is shown. */
  const attempt = useRef(0);
  /** Of the next attempt. */
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  /** @param isAsked for by a person, who sees what has become of it */
  const load = useEffectEvent(async (isAsked: boolean) => {
    clearTimeout(timer.current);
    attempt.current += 1;
    const mine = attempt.current;
    if (published === null || url === null) return;
    const next = await openPage(place, published, url);
    if (attempt.current !== mine) return;
    setFound((now) => {
      const isShown = now !== null && typeof now !== 'string' && now.of === url;
      if (next === 'not_read' && isShown && !isAsked) return now;
      return typeof next === 'string' ? next : { ...next, of: url };
    });
    if (next === 'not_read') timer.current = setTimeout(() => void load(false), pause);
  });
  const reread = async () => {
    if (!found || typeof found === 'string') return;
    const { deployment, annotations } = found;
    const next = await readPage(place, deployment, annotations.url);
    if (typeof next !== 'string') setFound((now) => (now === found ? { ...found, annotations: next } : now));
  };
  useEffect(() => {
    void load(false);
    return () => {
      attempt.current += 1;
      clearTimeout(timer.current);
    };
  }, [published, url]);
  const absence = (): Absence | null => {
    if (url === null) return 'no_address';
    if (!data) return fault && 'not_read';
    if (!environment) return isComplete ? 'no_environment' : null;
    if (published === null) return 'not_deployed';
    return typeof found === 'string' ? found : null;
  };
  return {
    environment,
    page: typeof found === 'string' ? null : found,
    absence: absence(),
    refresh,
    reload: () => (data ? void load(true) : refresh()),
    reread: () => void reread(),
  };
}

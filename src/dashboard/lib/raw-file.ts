import type { Place } from './place.ts';

/** REST address of a project's content operations. */
export const studioUrl = ({ organization, project }: Pick<Place, 'organization' | 'project'>): string =>
  `/api/v2/organizations/${encodeURIComponent(organization)}/projects/${encodeURIComponent(project)}/studio`;

/**
 * Where the bytes of a file are, for `<img>` or a download: under the session, never run as a page.
 * @param at a commit, whose files do not change, or a branch
 */
export function rawFileUrl(place: Place, path: string, at: { ref?: string; branch?: string | undefined }): string {
  const query = new URLSearchParams({ path, raw: 'true' });
  for (const [name, value] of Object.entries(at)) if (value !== undefined) query.set(name, value);
  return `${studioUrl(place)}/file?${query}`;
}

import { mediaRootOf } from '../media/media-roots.ts';
import type { SiteIndex } from './site-index.ts';

/** Files by which git itself treats others differently are code, wherever they lie. */
const steersGit = /(?:^|\/)\.(?:git[a-z]*|lfsconfig)$/i;

const isRegular = (mode: string) => mode === '100644' || mode === '100755';

/**
 * Whether a file is content or media of a site. All else is code: it enters a repository with the permission manage_studio only, or through
 * the upstream.
 */
export function isContent(site: SiteIndex, path: string, mode: string): boolean {
  if (!isRegular(mode) || steersGit.test(path)) return false;
  return site.discovery.schemas.some((schema) => schema.matches(path)) || mediaRootOf(site, path) !== null;
}

/** Addresses of files of the content: in the repository, in entries, and on this server. */
import { linkLabel, linkTarget } from './markdown-text.ts';
import type { Place } from './place.ts';

/** Where a file is read: on a branch (null: the default one), or as it was in a commit. */
type Where = Pick<Place, 'organization' | 'project'> & ({ branch: string | null } | { ref: string });

export const studioPath = ({ organization, project }: Pick<Place, 'organization' | 'project'>): string =>
  `/api/v2/organizations/${encodeURIComponent(organization)}/projects/${encodeURIComponent(project)}/studio`;

/** Address at which this server gives a file's bytes. @param path in the repository */
export function fileAddress(where: Where, path: string): string {
  const at = 'ref' in where ? { ref: where.ref } : where.branch === null ? {} : { branch: where.branch };
  const query = new URLSearchParams({ path, raw: 'true', ...at });
  return `${studioPath(where)}/file?${query}`;
}

/** Resolves `.` and `..`. @returns null when it leads out of the repository */
function normal(path: string): string | null {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) return null;
    } else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}

export const directoryOf = (path: string): string => path.split('/').slice(0, -1).join('/');

/** How an entry names a file beside which it has no public address: `../images/a.png`. */
function relativePath(from: string, to: string): string {
  const [here, there] = [directoryOf(from).split('/').filter(Boolean), to.split('/')];
  let shared = 0;
  while (shared < here.length && here[shared] === there[shared]) shared += 1;
  const up = here.slice(shared).map(() => '..');
  return [...(up.length === 0 ? ['.'] : up), ...there.slice(shared)].join('/');
}

/** Where files with an address lie; last the repository itself, whose files Jekyll publishes where they are. */
const publicRoots = ['public', 'static', 'source', 'src', ''];

/**
 * Where a file that an entry names may be in the repository, the likeliest first; empty for an address of another host.
 * @param entry path of the entry's file
 */
export function candidatePaths(entry: string | null, link: string): string[] {
  if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(link)) return [];
  let plain = link.replace(/[?#].*/s, '');
  try {
    plain = decodeURIComponent(plain);
  } catch {
    // A stray % is a letter.
  }
  const rooted = plain.replace(/^[@~]?\//, '');
  const near = entry === null ? null : normal(`${directoryOf(entry)}/${plain}`);
  const found = plain.startsWith('/') ? publicRoots.map((root) => normal(`${root}/${rooted}`)) : [near, normal(plain)];
  return [...new Set(found.filter((path) => path !== null && path !== ''))] as string[];
}

/** A file of the content. */
export interface StoredFile {
  path: string;
  /** Address the site uses for it, when it has one. */
  public_path: string | null;
  /** What any entry names it by, when that does not depend on where the entry is. */
  link: string | null;
}

/** How an entry names a file. One that has no path yet names it by its address, which most frameworks leave as it is. */
export const linkTo = (entry: { path: string | null }, { path, public_path, link }: StoredFile): string =>
  link ?? (entry.path === null ? (public_path ?? path) : relativePath(entry.path, path));

interface EntryFile {
  path: string | null;
  /** Files of an entry lie in a directory beside it that has its name, and Hexo publishes them with its page. */
  assetFolders: boolean;
}

/** The directory of an entry's own files; null when it has none. */
export const assetFolderOf = ({ path, assetFolders }: EntryFile): string | null =>
  path === null || !assetFolders ? null : path.replace(/\.[^./]+$/, '');

/** What shows an image in the text of an entry. */
export function imageIn(entry: EntryFile, file: StoredFile, alt: string): string {
  const folder = assetFolderOf(entry);
  if (folder !== null && file.path.startsWith(`${folder}/`) && !/\s/.test(file.path))
    return `{% asset_img ${file.path.slice(folder.length + 1)} '"" "${alt.replace(/["'%{}]/g, '')}"' %}`;
  return `![${linkLabel(alt)}](${linkTarget(linkTo(entry, file))})`;
}

/** Bytes of a picture that a page takes, at most. */
const largestPicture = 16 * 1024 * 1024;

/** A picture as an entry names it; null when the repository has none there. */
export async function readPicture(
  { path, ...place }: Pick<Place, 'organization' | 'project'> & { branch: string | null; path: string | null },
  url: string,
): Promise<Blob | null> {
  for (const candidate of candidatePaths(path, url)) {
    const answer = await fetch(fileAddress(place, candidate)).catch(() => null);
    const data = answer?.ok ? await answer.blob() : null;
    if (data?.type.startsWith('image/') && data.size <= largestPicture) return data;
  }
  return null;
}

import { DomainError } from '../../../errors.ts';
import type { ProjectContext } from '../../../operation.ts';
import { siteAddresses } from '../serve/site-addresses.ts';
import type { CrawlSnapshot, SkippedFile, SnapshotImport } from '../snapshot.entity.ts';
import { importLinks } from './import-links.ts';
import { makeFiles } from './make-files.ts';
import { mapFiles } from './map-files.ts';
import type { Importing } from './plan-import.ts';
import { fileFinder, readSite } from './read-site.ts';

type Context = Pick<ProjectContext, 'git' | 'services' | 'em' | 'log' | 'signal'>;

/** Object ids of what a branch holds below a directory. */
async function presentFiles(
  { git }: Pick<Context, 'git'>,
  branch: string,
  directory: string,
): Promise<Map<string, string>> {
  const head = await git.snapshot(await git.head(branch));
  return new Map((await head.files(directory)).map(({ path, oid }) => [path, oid]));
}

/**
 * Makes the files of an import from its snapshot.
 * @returns what is to be committed, and what is too large for it
 * @throws DomainError `not_found` when the snapshot is no longer kept
 */
export async function prepareImport(
  context: Context,
  row: SnapshotImport,
  snapshot: CrawlSnapshot,
): Promise<{ importing: Importing; tooLarge: SkippedFile[] }> {
  const { em, services, log, signal } = context;
  const { origin, origins } = snapshot;
  if (origins === null || origins === undefined || snapshot.state === 'expired')
    throw new DomainError('not_found', 'The snapshot is no longer kept');
  const site = await readSite(em, { id: snapshot.id, origins });
  const { files, owners, collisions } = mapFiles(site.captured, siteAddresses(origin, origins));
  if (collisions.length > 0)
    log.info({ import: row.id, collisions: collisions.length, example: collisions[0] }, 'merge_collision');
  const { branch, directory, rewrite_links } = row.request;
  const fileOf = fileFinder(files, site.redirects);
  const stripParams = services.settings.crawl.strip_params;
  const wanted = site.captured.flatMap((file) => {
    const path = files.get(file.url);
    if (path === undefined || owners.get(path) !== file.url) return [];
    return { path, file, links: rewrite_links ? importLinks({ origin, stripParams, fileOf }, path) : null };
  });
  const present = await presentFiles(context, branch, directory);
  const made = await makeFiles(context, { wanted, present, signal });
  const about = {
    snapshot: snapshot.id,
    origin,
    files: Object.fromEntries(files),
    redirects: Object.fromEntries(site.redirects),
  };
  const importing: Importing = { directory, mode: row.request.mode, files: made.files, about };
  return { importing, tooLarge: made.tooLarge };
}

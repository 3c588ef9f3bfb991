import type { Sha256 } from '../../../../ports/blobs.ts';
import type { Oid, Snapshot } from '../../../../ports/git-records.ts';
import { Environment } from '../../../environments/environment.entity.ts';
import { Deployment } from '../../deployment.entity.ts';
import { type ManifestEntry, readManifest } from '../../manifest.ts';
import type { Run } from '../stage.ts';
import { followPath } from './follow-path.ts';
import { outputDirectory } from './output-directory.ts';

/** A content in the store; `size` in bytes. */
export interface Kept {
  sha256: Sha256;
  size: number;
}

/** What the environment shows now: by object id of a blob, the content it was published as. */
export interface PublishedBefore {
  /** Tree of the directory that was published. */
  tree: Oid | null;
  contents: ReadonlyMap<Oid, Kept>;
}

const nothing: PublishedBefore = { tree: null, contents: new Map() };

/** The tree of what was published, where the commit is still one of the repository's. */
async function treeOf({ git }: Run, { commit_sha, settings }: Deployment): Promise<[Oid, Snapshot, string] | null> {
  if (!(await git.isReachable(commit_sha))) return null;
  const tree = await git.snapshot(commit_sha);
  const found = await followPath(tree, outputDirectory(settings));
  if (typeof found === 'string') return null;
  const oid = await tree.treeOid(found.path);
  return oid === null ? null : [oid, tree, found.path];
}

/**
 * Finds out what of a tree need not be read again, because the environment shows it already: a static output holds the blobs of its
 * commit as they are. Only contents that are still kept are named, and those are made young.
 */
export async function publishedBefore(run: Run): Promise<PublishedBefore> {
  const { services, row } = run;
  const em = services.orm.em.fork();
  const environment = await em.findOne(Environment, row.environment_id);
  const shown = await em.findOne(Deployment, environment?.published_deployment_id ?? 0);
  if (!shown?.manifest_sha256 || shown.settings.provider !== 'static') return nothing;
  const found = await treeOf(run, shown);
  if (found === null) return nothing;
  const [oid, tree, path] = found;
  const manifest = await readManifest(services.blobs, shown.manifest_sha256).catch(() => null);
  if (manifest === null) return nothing;
  const entries = new Map<string, ManifestEntry>(manifest.map((entry) => [entry[0], entry]));
  const gone = await services.blobs.missing(manifest.map(([, sha256]) => sha256));
  const contents = new Map<Oid, Kept>();
  for (const { path: name, oid: blob } of await tree.files(path)) {
    const [, sha256, size] = entries.get(name) ?? [];
    if (sha256 !== undefined && size !== undefined && !gone.has(sha256)) contents.set(blob, { sha256, size });
  }
  return { tree: oid, contents };
}

import type { Repository } from '../../../ports/git.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import type { SiteFiles } from '../schema/collection-schema.ts';

const maxConfigBytes = 1024 * 1024;

/** The regular files of a tree, for readers of configurations. */
export async function siteFilesOf(git: Repository, snapshot: Snapshot): Promise<SiteFiles> {
  const files = await snapshot.files();
  const paths = files.filter((file) => file.mode === '100644' || file.mode === '100755');
  let oids: Map<string, string> | null = null;
  const read = async (path: string) => {
    oids ??= new Map(paths.map((file) => [file.path, file.oid]));
    const oid = oids.get(path);
    if (!oid) return null;
    const [size] = await git.sizes([oid]);
    if (size == null || size > maxConfigBytes) return null;
    const content = await snapshot.blob(oid);
    const text = content.toString('utf8');
    return Buffer.from(text, 'utf8').equals(content) ? text : null;
  };
  return { paths, read };
}

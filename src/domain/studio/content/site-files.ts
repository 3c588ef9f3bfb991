import { forEachYielding } from '../../../lib/concurrency.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Snapshot, TreeFile } from '../../../ports/git-records.ts';
import type { SiteFiles } from '../schema/collection-schema.ts';

const maxConfigBytes = 1024 * 1024;

/** The regular files of a tree, for readers of configurations. */
export async function siteFilesOf(git: Repository, snapshot: Snapshot): Promise<SiteFiles> {
  const paths: TreeFile[] = [];
  await forEachYielding(await snapshot.files(), (file) => {
    if (file.mode === '100644' || file.mode === '100755') paths.push(file);
  });
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

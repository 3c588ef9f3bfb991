import { filterYielding, forEachYielding } from '../../../lib/concurrency.ts';
import type { Oid, Snapshot, TreeFile } from '../../../ports/git-records.ts';
import type { SiteFiles } from '../schema/collection-schema.ts';

const maxConfigBytes = 1024 * 1024;

/** Files of a tree, with the objects they are by their paths. */
interface TreeFiles extends SiteFiles {
  oids(): Promise<ReadonlyMap<string, Oid>>;
}

/** The regular files of a tree, for readers of configurations. */
export async function siteFilesOf(snapshot: Snapshot): Promise<TreeFiles> {
  const isRegular = ({ mode }: TreeFile) => mode === '100644' || mode === '100755';
  const paths = await filterYielding(await snapshot.files(), isRegular);
  let made: Promise<Map<string, Oid>> | null = null;
  const oids = () => {
    made ??= oidsByPath(paths);
    return made;
  };
  const read = async (path: string) => {
    const oid = (await oids()).get(path);
    if (!oid) return null;
    const [size] = await snapshot.sizes([oid]);
    if (size == null || size > maxConfigBytes) return null;
    const content = await snapshot.blob(oid);
    const text = content.toString('utf8');
    return Buffer.from(text, 'utf8').equals(content) ? text : null;
  };
  return { paths, read, oids };
}

async function oidsByPath(files: readonly TreeFile[]): Promise<Map<string, Oid>> {
  const oids = new Map<string, Oid>();
  await forEachYielding(files, ({ path, oid }) => oids.set(path, oid));
  return oids;
}

import { randomUUID } from 'node:crypto';
import { rename, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import type { Oid } from '../../../ports/git-records.ts';
import { inDirectory, syncDirectories, writeNewFile } from '../durable-files.ts';
import { type ObjectType, objectHeader } from './object-id.ts';

export interface NewObject {
  oid: Oid;
  type: ObjectType;
  content: Buffer;
}

const compress = promisify(deflate);
/** The lightest compression: maintenance repacks everything anyway. */
const level = 1;
/**
 * Trees above this are stored without compression, bytes. Half a tree is hashes: a directory of 10,000 files shrinks from 410 to 250 KB,
 * but compressing it takes half the time of a commit; maintenance deltas it later.
 */
const plainTree = 64 * 1024;

/**
 * Stores objects as loose files (gitformat-loose: zlib over header and content) and returns when all are durable: contents first, then
 * names, then directories, so that a crash leaves whole objects and `tmp_obj_*` leftovers that `git prune` removes.
 *
 * An object that is loose already is touched, which keeps it from being pruned. One that is only in a pack is written again: the pack
 * could be replaced by one without it while we rely on it, and maintenance drops the second copy.
 *
 * @param directory the repository's `objects`
 */
export async function writeObjects(directory: string, objects: Iterable<NewObject>): Promise<void> {
  const placed = await Promise.all(Array.from(objects, (object) => writeTemporary(directory, object)));
  const changed = new Set<string>();
  await Promise.all(
    placed.map(async ({ path, temporary, newDirectory }) => {
      if (temporary !== null) await rename(temporary, path);
      changed.add(dirname(path));
      if (newDirectory) changed.add(directory);
    }),
  );
  await syncDirectories(changed);
}

interface Placed {
  path: string;
  /** null when the object was there. */
  temporary: string | null;
  newDirectory: boolean;
}

async function writeTemporary(directory: string, { oid, type, content }: NewObject): Promise<Placed> {
  const path = join(directory, oid.slice(0, 2), oid.slice(2));
  if (await touch(path)) return { path, temporary: null, newDirectory: false };
  const temporary = join(dirname(path), `tmp_obj_${randomUUID()}`);
  const plain = type === 'tree' && content.length > plainTree;
  const bytes = await compress(Buffer.concat([objectHeader(type, content.length), content]), {
    level: plain ? 0 : level,
  });
  const newDirectory = await inDirectory(dirname(path), () => writeNewFile(temporary, bytes, 0o444));
  return { path, temporary, newDirectory };
}

async function touch(path: string): Promise<boolean> {
  const now = new Date();
  try {
    await utimes(path, now, now);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

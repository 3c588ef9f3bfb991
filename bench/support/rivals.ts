import fs from 'node:fs';
import git from 'isomorphic-git';

/** Reads every blob of a branch with isomorphic-git and its cache. @returns how many. */
export async function readAllIsomorphic(gitdir: string): Promise<number> {
  const cache = {};
  let count = 0;
  const readBelow = async (oid: string): Promise<void> => {
    const { tree } = await git.readTree({ fs, gitdir, oid, cache });
    for (const entry of tree) {
      if (entry.type === 'tree') await readBelow(entry.oid);
      else if (entry.type === 'blob') count += (await git.readBlob({ fs, gitdir, oid: entry.oid, cache })) ? 1 : 0;
    }
  };
  await readBelow(await git.resolveRef({ fs, gitdir, ref: 'refs/heads/main' }));
  return count;
}

/** Reads blobs with isomorphic-git, one cache kept for all. */
export function isomorphicReader(gitdir: string): (oid: string) => Promise<Uint8Array> {
  const cache = {};
  return async (oid) => (await git.readBlob({ fs, gitdir, oid, cache })).blob;
}

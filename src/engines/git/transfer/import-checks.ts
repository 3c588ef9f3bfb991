import { DomainError } from '../../../domain/errors.ts';
import type { Oid } from '../../../domain/ports/git-records.ts';
import type { GitProcesses } from '../git-process.ts';
import { listRecursively } from '../objects/ls-tree.ts';

/** What a repository may hold to be taken in: files of one tree, directories one path goes down, bytes of one file. */
const limits = { files: 200_000, depth: 64, blobBytes: 100 * 1024 * 1024 };

/**
 * Looks at the files of each tree as it would be served.
 *
 * @throws DomainError `too_large` naming what is over a limit
 */
export async function checkTrees(
  processes: GitProcesses,
  gitDir: string,
  trees: Iterable<Oid>,
  signal?: AbortSignal,
): Promise<void> {
  for (const tree of new Set(trees)) {
    let files = 0;
    const options = { sizes: true, ...(signal === undefined ? {} : { signal }) };
    for await (const entries of listRecursively(processes, gitDir, tree, options)) {
      for (const { path, type, size } of entries) {
        if (path.split('/').length > limits.depth)
          throw new DomainError('too_large', `A directory is deeper than ${limits.depth}`);
        if (type === 'tree') continue;
        files += 1;
        if (files > limits.files) throw new DomainError('too_large', `A branch holds more than ${limits.files} files`);
        if ((size ?? 0) > limits.blobBytes) throw new DomainError('too_large', `${path} is larger than 100 MiB`);
      }
    }
  }
}

import type { WorkspaceFile } from '../../../ports/deployer.ts';
import type { TreeFile } from '../../../ports/git-records.ts';
import { pathProblem } from '../../path-rules.ts';
import { largestPointer, readLfsPointer } from '../../repository/lfs-pointer.ts';
import { notice } from './notice.ts';
import { type Run, type Stage, StageFailure } from './stage.ts';

const mostFiles = 200_000;
const mostBytes = 4 * 1024 ** 3;

const kinds: Record<string, WorkspaceFile['kind']> = { '100644': 'file', '100755': 'executable', '120000': 'link' };

async function checkSizes({ git }: Pick<Run, 'git'>, files: readonly TreeFile[]): Promise<number> {
  if (files.length > mostFiles)
    throw new StageFailure('output_too_large', `The commit has more than ${mostFiles} files`);
  const sizes = await git.sizes(files.map(({ oid }) => oid));
  const total = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  if (total > mostBytes) throw new StageFailure('output_too_large', `The commit has more than ${mostBytes} bytes`);
  return total;
}

/** Writes the tree of the commit as its objects are: no filter, attribute or hook of git has a part in it. */
export const prepare: Stage = async (run, job) => {
  const { git, row, workspace, signal } = run;
  await job.step(`Write the files of ${row.commit_sha.slice(0, 7)}`, async () => {
    const snapshot = await git.snapshot(row.commit_sha);
    const all = await snapshot.files();
    const files = all.filter(({ mode, path }) => kinds[mode] !== undefined && pathProblem(path) === null);
    const bytes = await checkSizes(run, files);
    const pointers: string[] = [];
    async function* contents(): AsyncGenerator<WorkspaceFile> {
      let index = 0;
      for await (const { content } of snapshot.blobs(files.map(({ oid }) => oid))) {
        signal.throwIfAborted();
        const file = files[index++] as TreeFile;
        if (content.length <= largestPointer && readLfsPointer(content)) pointers.push(file.path);
        yield { path: file.path, kind: kinds[file.mode] ?? 'file', content };
      }
    }
    const leftOut = await workspace.write(contents());
    job.log.line(`${files.length} files, ${bytes} bytes of commit ${row.commit_sha} on ${row.branch}`);
    notice(run, job, 'link_left_out', 'Left out, because the link leads out of the repository', leftOut);
    const submodules = all.filter(({ mode }) => mode === '160000').map(({ path }) => path);
    notice(run, job, 'submodule_not_fetched', 'Submodules are not fetched', submodules);
    notice(run, job, 'lfs_pointer', 'Still Git LFS pointers', pointers);
  });
  const network = workspace.enforcesNetwork || row.settings.network === 'full' ? '' : ', not enforced at this level';
  job.log.line(`Isolation: ${workspace.isolation} (${workspace.reason}); network: ${row.settings.network}${network}`);
};

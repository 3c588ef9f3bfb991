import { fewAtOnce } from '../../../few-at-once.ts';
import type { BlobStore } from '../../../ports/blobs.ts';
import type { OutputFile, OutputProblem } from '../../../ports/deployer.ts';
import type { FailureReason } from '../deployment.entity.ts';
import { isServable } from '../manifest.ts';
import type { JobRun } from './job-run.ts';
import { notice } from './notice.ts';
import { StageFailure, type WorkspaceRun } from './stage.ts';
import { outputDirectory } from './static/output-directory.ts';
import { type KeptFile, storeOutput } from './store-output.ts';

const reasons: Record<OutputProblem, FailureReason> = {
  missing: 'output_missing',
  outside: 'output_missing',
  empty: 'output_missing',
  too_many_files: 'output_too_large',
  too_large: 'output_too_large',
  file_too_large: 'output_too_large',
};

/** Files read at the same time: those that are small and new become durable together. */
const together = 100;

async function keepFiles(blobs: BlobStore, files: readonly OutputFile[], signal: AbortSignal) {
  const kept: KeptFile[] = [];
  await fewAtOnce(files, together, async ({ path, file }, index) => {
    signal.throwIfAborted();
    const { sha256, size, isNew } = await blobs.putFile(file);
    kept[index] = { path, sha256, size, isNew };
  });
  return kept;
}

async function collect(run: WorkspaceRun, job: JobRun): Promise<OutputFile[]> {
  const { workspace, row } = run;
  const output = await workspace.output(outputDirectory(row.settings));
  if ('problem' in output) throw new StageFailure(reasons[output.problem], output.detail);
  const unnamed = output.files.filter(({ path }) => !isServable(path)).map(({ path }) => JSON.stringify(path));
  notice(run, job, 'not_published', 'Not published, because they are links or no plain files', [
    ...output.refused,
    ...unnamed,
  ]);
  return output.files.filter(({ path }) => isServable(path));
}

/**
 * Keeps the files that are to be published; those that are kept already are not copied.
 * @returns the digest of the manifest
 */
export async function keepOutput(run: WorkspaceRun, job: JobRun): Promise<string> {
  return job.step('Publish', async () => {
    const files = await collect(run, job);
    const kept = await keepFiles(run.services.blobs, files, run.signal);
    return storeOutput(run, job, kept);
  });
}

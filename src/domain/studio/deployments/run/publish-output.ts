import { forEachConcurrently } from '../../../../lib/concurrency.ts';
import type { BlobStore, Sha256 } from '../../../../ports/blobs.ts';
import type { OutputFile, OutputProblem } from '../../../../ports/deployer.ts';
import { readRedirects } from '../../previews/outputs.ts';
import { joinPath } from '../../schema/site-layout.ts';
import type { DeploymentSettings, FailureReason } from '../deployment.entity.ts';
import { isServable, type Manifest, makeManifest, storeManifest } from '../manifest.ts';
import { type JobRun, notice } from './job-run.ts';
import { type Run, StageFailure, type WorkspaceRun } from './stage.ts';

/** The directory a deployment publishes, relative to the repository. */
export const outputDirectory = ({
  root_directory,
  output_directory,
}: Pick<DeploymentSettings, 'root_directory' | 'output_directory'>): string =>
  joinPath(root_directory, output_directory);

/** A file of an output whose content is kept. */
export interface KeptFile {
  path: string;
  sha256: Sha256;
  /** Bytes. */
  size: number;
  /** Its content had not been kept before. */
  isNew: boolean;
}

/** Tells of the lines of a `_redirects` file that the preview origin does not follow. */
async function checkRedirects(run: Run, job: JobRun, manifest: Manifest): Promise<void> {
  const { faults } = await readRedirects(run.services.blobs, manifest);
  const lines = faults.map(({ line, problem }) => (line === null ? problem : `line ${line} (${problem})`));
  notice(run, job, 'redirect_not_used', 'Not used of _redirects', lines);
}

/** Makes one output of files that are kept. @returns the digest of its manifest */
export async function storeOutput(run: Run, job: JobRun, files: readonly KeptFile[]): Promise<Sha256> {
  const { blobs } = run.services;
  const manifest = makeManifest(files);
  const added = new Set(files.filter(({ isNew }) => isNew).map(({ sha256 }) => sha256));
  await checkRedirects(run, job, manifest);
  const digest = await storeManifest(blobs, manifest);
  job.log.line(`${manifest.length} files, ${added.size} of them new; digest ${digest}`);
  return digest;
}

const reasons: Record<OutputProblem, FailureReason> = {
  missing: 'output_missing',
  outside: 'output_missing',
  empty: 'output_missing',
  too_many_files: 'output_too_large',
  too_large: 'output_too_large',
  file_too_large: 'output_too_large',
};

/** Files read at the same time: small new ones become durable together. */
const together = 100;

async function keepFiles(blobs: BlobStore, files: readonly OutputFile[], signal: AbortSignal) {
  const kept: KeptFile[] = [];
  await forEachConcurrently(files, together, async ({ path, file }, index) => {
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
 * Stores the files that are to be published; files that are stored already are not copied.
 * @returns the digest of the manifest
 */
export async function keepOutput(run: WorkspaceRun, job: JobRun): Promise<string> {
  return job.step('Publish', async () => {
    const files = await collect(run, job);
    const kept = await keepFiles(run.services.blobs, files, run.signal);
    return storeOutput(run, job, kept);
  });
}

import type { BlobStore, Sha256 } from '../../../ports/blobs.ts';
import type { OutputFile, OutputProblem } from '../../../ports/deployer.ts';
import { joinPath } from '../../schema/site-layout.ts';
import type { FailureReason } from '../deployment.entity.ts';
import { isEncodable, isServable, type Manifest, makeManifest, storeManifest } from '../manifest.ts';
import type { JobRun } from './job-run.ts';
import { type Run, StageFailure } from './stage.ts';

const reasons: Record<OutputProblem, FailureReason> = {
  missing: 'output_missing',
  outside: 'output_missing',
  empty: 'output_missing',
  too_many_files: 'output_too_large',
  too_large: 'output_too_large',
  file_too_large: 'output_too_large',
};

/** Files read, and compressed, at the same time. */
const together = 8;
const listed = 20;

/** Does something to every item, a few at the same time; the first that fails ends it. */
async function forEach<T>(items: readonly T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) await work(items[index] as T, index);
  };
  await Promise.all(Array.from({ length: together }, worker));
}

async function keepFiles(blobs: BlobStore, files: readonly OutputFile[], signal: AbortSignal) {
  const kept: { path: string; sha256: Sha256; size: number; isNew: boolean }[] = [];
  await forEach(files, async ({ path, file }, index) => {
    signal.throwIfAborted();
    const { sha256, size, isNew } = await blobs.putFile(file);
    kept[index] = { path, sha256, size, isNew };
  });
  return kept;
}

async function encodeNew(blobs: BlobStore, manifest: Manifest, added: ReadonlySet<Sha256>): Promise<void> {
  await forEach(
    manifest.filter((entry) => added.has(entry[1]) && isEncodable(entry)),
    ([, sha256]) => blobs.encode(sha256),
  );
}

async function collect({ workspace, row }: Run, job: JobRun): Promise<OutputFile[]> {
  const { root_directory, output_directory } = row.settings;
  const output = await workspace.output(joinPath(root_directory, output_directory));
  if ('problem' in output) throw new StageFailure(reasons[output.problem], output.detail);
  const unnamed = output.files.filter(({ path }) => !isServable(path)).map(({ path }) => JSON.stringify(path));
  const refused = [...output.refused, ...unnamed];
  if (refused.length > 0) {
    const names = refused.slice(0, listed).join(', ');
    job.log.line(`Not published, because they are links or no plain files (${refused.length}): ${names}`);
  }
  return output.files.filter(({ path }) => isServable(path));
}

/**
 * Keeps the files that are to be published; those that are kept already are not copied.
 * @returns the digest of the manifest
 */
export async function keepOutput(run: Run, job: JobRun): Promise<string> {
  const { blobs } = run.services;
  return job.step('Publish', async () => {
    const files = await collect(run, job);
    const kept = await keepFiles(blobs, files, run.signal);
    const manifest = makeManifest(kept);
    const added = new Set(kept.filter(({ isNew }) => isNew).map(({ sha256 }) => sha256));
    await encodeNew(blobs, manifest, added);
    const digest = await storeManifest(blobs, manifest);
    job.log.line(`${manifest.length} files, ${added.size} of them new; digest ${digest}`);
    return digest;
  });
}

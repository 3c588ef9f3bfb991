import type { Sha256 } from '../../../ports/blobs.ts';
import { readRedirects } from '../../previews/read-redirects.ts';
import { type Manifest, makeManifest, storeManifest } from '../manifest.ts';
import type { JobRun } from './job-run.ts';
import { notice } from './notice.ts';
import type { Run } from './stage.ts';

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

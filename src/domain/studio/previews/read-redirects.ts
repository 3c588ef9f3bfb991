import type { BlobStore } from '../../ports/blobs.ts';
import type { Manifest } from '../deployments/manifest.ts';
import { parseRedirects } from './redirects.ts';

/** A longer `_redirects` is none; bytes. */
const longest = 1024 * 1024;

/** The rules of an output's `_redirects` file, and what of it is not used; no rules when there is no such file. */
export async function readRedirects(blobs: BlobStore, manifest: Manifest): Promise<ReturnType<typeof parseRedirects>> {
  const file = manifest.find(([path]) => path === '_redirects');
  if (!file) return { rules: [], faults: [] };
  const [, sha256, size] = file;
  if (size > longest) return { rules: [], faults: [{ line: null, problem: 'it is larger than 1 MiB' }] };
  const chunks: Buffer[] = [];
  for await (const chunk of blobs.read(sha256)) chunks.push(chunk);
  return parseRedirects(Buffer.concat(chunks).toString('utf8'));
}

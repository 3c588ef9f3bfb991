import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { LiveBlobs, Sha256, SweptBlobs } from '../../ports/blobs.ts';
import type { BlobPaths } from './blob-paths.ts';
import { absentAs } from './failures.ts';

const look = (place: string) => stat(place).catch(absentAs(null));
const namesIn = (place: string): Promise<string[]> => readdir(place).catch(absentAs<string[]>([]));

/** Removes what was taken aside, unless it was made young before that. @returns bytes freed; null when it stays */
async function decide(paths: BlobPaths, sha256: Sha256, before: number): Promise<number | null> {
  const aside = path.join(paths.leaving, sha256);
  const found = await look(aside);
  if (found === null) return null;
  if (found.mtimeMs >= before) {
    await rename(aside, paths.of(sha256));
    return null;
  }
  const codings = await look(paths.codingsOf(sha256));
  // Nobody is sent a coding without having found the blob itself, so they may go first.
  await rm(paths.codingsOf(sha256), { force: true });
  await rm(aside, { force: true });
  return found.size + (codings?.size ?? 0);
}

/**
 * Takes a blob that looks old aside and looks again: a put that found it has either touched the very file we hold now, or has not
 * found it any more and written it anew.
 */
async function removeOne(paths: BlobPaths, sha256: Sha256, before: number): Promise<number | null> {
  const found = await look(paths.of(sha256));
  if (found === null || found.mtimeMs >= before) return null;
  await rename(paths.of(sha256), path.join(paths.leaving, sha256)).catch(absentAs(undefined));
  return decide(paths, sha256, before);
}

/** What interrupted puts and sweeps left. */
async function clearLeftovers(paths: BlobPaths, liveBelow: LiveBlobs, before: number): Promise<void> {
  await mkdir(paths.leaving, { recursive: true, mode: 0o700 });
  for (const sha256 of await namesIn(paths.leaving)) {
    if ((await liveBelow(sha256.slice(0, 2))).has(sha256))
      await rename(path.join(paths.leaving, sha256), paths.of(sha256));
    else await decide(paths, sha256, before);
  }
  for (const name of await namesIn(paths.incoming)) {
    const place = path.join(paths.incoming, name);
    if (((await look(place))?.mtimeMs ?? before) < before) await rm(place, { force: true });
  }
}

/** Mark and sweep, see `BlobStore.sweep`. `before` is in milliseconds since 1970. */
export async function sweepBlobs(
  root: string,
  paths: BlobPaths,
  live: ReadonlySet<Sha256> | LiveBlobs,
  before: number,
): Promise<SweptBlobs> {
  const swept: SweptBlobs = { kept: 0, removed: 0, bytes: 0 };
  const liveBelow = typeof live === 'function' ? live : async () => live;
  await clearLeftovers(paths, liveBelow, before);
  for (const folder of (await namesIn(root)).filter((name) => /^[0-9a-f]{2}$/.test(name))) {
    const named = await liveBelow(folder);
    for (const name of (await namesIn(path.join(root, folder))).filter((each) => /^[0-9a-f]{62}$/.test(each))) {
      const sha256 = folder + name;
      const bytes = named.has(sha256) ? null : await removeOne(paths, sha256, before);
      if (bytes === null) swept.kept += 1;
      else swept.removed += 1;
      swept.bytes += bytes ?? 0;
    }
  }
  return swept;
}

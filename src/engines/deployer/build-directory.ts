import { createHash } from 'node:crypto';
import path from 'node:path';

/**
 * Where workspaces and package caches lie when nobody has said: in the data directory, or, for a server started as root, where the users
 * that its builds run as can reach it. The data directory is closed to them.
 */
export function buildDirectory(dataDirectory: string, given: string | undefined): string {
  if (given !== undefined) return path.resolve(given);
  if (process.getuid?.() !== 0) return path.join(dataDirectory, 'builds');
  const name = createHash('sha256').update(dataDirectory).digest('hex').slice(0, 12);
  return path.join('/var/tmp', `portico-builds-${name}`);
}

import { createHash } from 'node:crypto';
import path from 'node:path';
import { type OutputLimits, outputLimits } from '../../domain/studio/deployments/manifest.ts';

/**
 * Where workspaces and package caches are by default: in the data directory, or, for a server started as root, where the users
 * that its builds run as can reach it. The data directory is closed to them.
 */
export function buildDirectory(dataDirectory: string, given: string | undefined): string {
  if (given !== undefined) return path.resolve(given);
  if (process.getuid?.() !== 0) return path.join(dataDirectory, 'builds');
  const name = createHash('sha256').update(dataDirectory).digest('hex').slice(0, 12);
  return path.join('/var/tmp', `portico-builds-${name}`);
}

const gibibyte = 1024 ** 3;

/** What a build may take; bytes and numbers. */
export interface BuildLimits extends OutputLimits {
  memory: number;
  /** What other software may come to keep in memory while a build runs, such as the shared buffers of a database. */
  otherMemory: number;
  processes: number;
  /** Open at the same time, in all of its processes. */
  descriptors: number;
  /** Of the workspace and all it writes beside it; as much again of a package cache. */
  workspace: number;
  /** Files and directories, where `workspace` counts their bytes. */
  files: number;
}

export const buildLimits: BuildLimits = {
  memory: 2 * gibibyte,
  otherMemory: gibibyte / 4,
  processes: 512,
  descriptors: 65_536,
  workspace: 4 * gibibyte,
  files: 1_000_000,
  ...outputLimits,
};

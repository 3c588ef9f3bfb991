import { type OutputLimits, outputLimits } from '../../domain/studio/deployments/manifest.ts';

const gibibyte = 1024 ** 3;

/** What a build may take; bytes and numbers. */
export interface BuildLimits extends OutputLimits {
  memory: number;
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
  processes: 512,
  descriptors: 65_536,
  workspace: 4 * gibibyte,
  files: 1_000_000,
  ...outputLimits,
};

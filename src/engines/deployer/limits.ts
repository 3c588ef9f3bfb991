import { type OutputLimits, outputLimits } from '../../domain/studio/deployments/output-limits.ts';

const gibibyte = 1024 ** 3;

/** What a build may take; bytes and numbers. */
export interface BuildLimits extends OutputLimits {
  memory: number;
  processes: number;
  workspace: number;
}

export const buildLimits: BuildLimits = {
  memory: 2 * gibibyte,
  processes: 512,
  workspace: 4 * gibibyte,
  ...outputLimits,
};

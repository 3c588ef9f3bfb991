const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/** What a build may take; bytes and numbers. */
export interface BuildLimits {
  memory: number;
  processes: number;
  workspace: number;
  outputFiles: number;
  outputBytes: number;
  outputFileBytes: number;
}

export const buildLimits: BuildLimits = {
  memory: 2 * gibibyte,
  processes: 512,
  workspace: 4 * gibibyte,
  outputFiles: 20_000,
  outputBytes: gibibyte,
  outputFileBytes: 100 * mebibyte,
};

const mebibyte = 1024 * 1024;

/** What one output may hold, built or published as it is; numbers and bytes. */
export interface OutputLimits {
  outputFiles: number;
  outputBytes: number;
  outputFileBytes: number;
}

export const outputLimits: OutputLimits = {
  outputFiles: 20_000,
  outputBytes: 1024 * mebibyte,
  outputFileBytes: 100 * mebibyte,
};

type TooLarge = { problem: 'too_many_files' | 'too_large' | 'file_too_large'; detail: string };

/** Adds up the files of an output as they are found, so that one without end is left early. */
export class OutputSize {
  readonly #limits: OutputLimits;
  #files = 0;
  bytes = 0;

  constructor(limits: OutputLimits = outputLimits) {
    this.#limits = limits;
  }

  /** Counts a file, its size in bytes. @returns what is too large with this file, or null */
  add(path: string, size: number): TooLarge | null {
    const { outputFiles, outputBytes, outputFileBytes } = this.#limits;
    this.#files += 1;
    this.bytes += size;
    if (this.#files > outputFiles)
      return { problem: 'too_many_files', detail: `The output has more than ${outputFiles} files` };
    if (size > outputFileBytes)
      return { problem: 'file_too_large', detail: `${path} has more than ${outputFileBytes} bytes` };
    if (this.bytes <= outputBytes) return null;
    return { problem: 'too_large', detail: `The output has more than ${outputBytes} bytes` };
  }
}

/** Directories that are never meant for readers. */
export const neverPublished: ReadonlySet<string> = new Set(['.git', 'node_modules']);

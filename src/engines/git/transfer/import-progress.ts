import type { ImportProgress } from '../../../domain/ports/git-transfer.ts';

/**
 * Reads the progress `git fetch --progress` writes to stderr: lines such as `Receiving objects:  45% (9/20), 1.2 MiB | …`, rewritten in
 * place with carriage returns and cut anywhere.
 */
export class ProgressReader {
  readonly #report: (progress: ImportProgress) => void;
  #rest = '';
  #last: ImportProgress = { phase: 'connecting', received_objects: 0, total_objects: 0 };

  constructor(report: (progress: ImportProgress) => void) {
    this.#report = report;
    report(this.#last);
  }

  phase(phase: ImportProgress['phase']): void {
    this.#set({ ...this.#last, phase });
  }

  read(text: string): void {
    const lines = (this.#rest + text).split(/[\r\n]/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    const receiving = /^Receiving objects: +\d+% \((\d+)\/(\d+)\)/.exec(line);
    if (receiving !== null) {
      this.#set({ phase: 'receiving', received_objects: Number(receiving[1]), total_objects: Number(receiving[2]) });
    } else if (line.startsWith('Resolving deltas:') && this.#last.phase !== 'resolving') this.phase('resolving');
  }

  #set(progress: ImportProgress): void {
    this.#last = progress;
    this.#report(progress);
  }
}

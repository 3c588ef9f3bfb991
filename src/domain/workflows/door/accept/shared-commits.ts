interface Waiting<Call, Result> {
  call: Call;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

interface Options {
  /** Calls of one commit. */
  most?: number;
  /** Commits at the same time. A second one begins only when the first has been under way for `patience` milliseconds. */
  lanes?: number;
  patience?: number;
  /** Whether a failed commit has certainly changed nothing, so that its calls may be tried again. */
  isDefinite(error: unknown): boolean;
}

/**
 * Lets calls that arrive while a commit is under way share the next one; nobody waits for company. When a shared commit fails, its calls are
 * tried one by one, so that one that cannot be stored harms no other.
 */
export class SharedCommits<Call, Result> {
  readonly #commit: (calls: readonly Call[]) => Promise<readonly Result[]>;
  readonly #options: Required<Options>;
  #waiting: Waiting<Call, Result>[] = [];
  #running = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param commit does all or nothing; its results are in the order of the calls */
  constructor(commit: (calls: readonly Call[]) => Promise<readonly Result[]>, options: Options) {
    this.#commit = commit;
    this.#options = { most: 64, lanes: 4, patience: 50, ...options };
  }

  add(call: Call): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, resolve, reject });
      if (this.#running === 0) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running += 1;
    this.#watch();
    while (this.#waiting.length > 0) await this.#share(this.#waiting.splice(0, this.#options.most));
    this.#running -= 1;
    if (this.#running === 0) clearInterval(this.#timer);
    if (this.#running === 0) this.#timer = undefined;
  }

  /** A commit that is held up, by a lock for example, must not hold up everybody. */
  #watch(): void {
    this.#timer ??= setInterval(() => {
      if (this.#waiting.length > 0 && this.#running < this.#options.lanes) void this.#run();
    }, this.#options.patience).unref();
  }

  async #share(group: readonly Waiting<Call, Result>[]): Promise<void> {
    try {
      const results = await this.#commit(group.map(({ call }) => call));
      for (const [at, { resolve }] of group.entries()) resolve(results[at] as Result);
    } catch (error) {
      if (group.length > 1 && this.#options.isDefinite(error)) for (const one of group) await this.#share([one]);
      else for (const { reject } of group) reject(error);
    }
  }
}

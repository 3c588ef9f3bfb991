import { setImmediate } from 'node:timers/promises';
import { DomainError } from './errors.ts';
import { asUnavailable } from './unavailable.ts';

interface Waiting<Call, Result> {
  call: Call;
  since: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** What a commit to the database that does not end, or fails, comes to. */
const ofDatabase = {
  late: () => new DomainError('unavailable', 'The database does not answer'),
  isDefinite: (error: unknown) => !(asUnavailable(error) instanceof DomainError),
};

interface Options {
  /** Calls of one commit. */
  most?: number;
  /** So many waiting calls are worth a second commit beside the first: the database has something to do while that one waits for the disk. */
  crowd?: number;
  /** Commits at the same time. Further ones begin only when those under way have been so for `patience` milliseconds. */
  lanes?: number;
  patience?: number;
  /** Milliseconds after which a call is given up, whatever becomes of its commit. */
  limit?: number;
  /** The error of such a call: that the database does not answer. */
  late?(): Error;
  /** Whether a failed commit has certainly changed nothing, so that its calls may be tried again: as usual, unless the database was away. */
  isDefinite?(error: unknown): boolean;
}

/**
 * Calls that arrive while a commit is under way share the next one; none waits to be joined by others. When a shared commit fails, its calls are
 * tried one by one, so that one that cannot be stored harms no other.
 */
export class SharedCommits<Call, Result> {
  readonly #commit: (calls: readonly Call[]) => Promise<readonly Result[]>;
  readonly #options: Required<Options>;
  readonly #underWay = new Set<Waiting<Call, Result>>();
  #waiting: Waiting<Call, Result>[] = [];
  #running = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param commit does all or nothing; its results are in the order of the calls */
  constructor(commit: (calls: readonly Call[]) => Promise<readonly Result[]>, options: Options = {}) {
    this.#commit = commit;
    this.#options = { most: 64, crowd: 8, lanes: 4, patience: 50, limit: 10_000, ...ofDatabase, ...options };
  }

  add(call: Call): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, since: performance.now(), resolve, reject });
      if (this.#running === 0 || (this.#running === 1 && this.#waiting.length >= this.#options.crowd)) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running += 1;
    this.#timer ??= setInterval(() => this.#watch(), this.#options.patience).unref();
    while (this.#waiting.length > 0) {
      // What this turn of the event loop still brings is stored together: a commit costs as much as some ten calls.
      await setImmediate();
      await this.#share(this.#waiting.splice(0, this.#options.most));
    }
    this.#running -= 1;
    if (this.#running === 0) clearInterval(this.#timer);
    if (this.#running === 0) this.#timer = undefined;
  }

  /** A commit that is held up, by a lock for example, must not hold up all other calls, and no call for ever. */
  #watch(): void {
    const before = performance.now() - this.#options.limit;
    const isLate = ({ since }: { since: number }) => since < before;
    for (const one of [...this.#underWay, ...this.#waiting].filter(isLate)) one.reject(this.#options.late());
    this.#waiting = this.#waiting.filter((one) => !isLate(one));
    if (this.#waiting.length > 0 && this.#running < this.#options.lanes) void this.#run();
  }

  async #share(group: readonly Waiting<Call, Result>[]): Promise<void> {
    if (group.length === 0) return;
    for (const one of group) this.#underWay.add(one);
    try {
      const results = await this.#commit(group.map(({ call }) => call));
      for (const [at, { resolve }] of group.entries()) resolve(results[at] as Result);
    } catch (error) {
      if (group.length > 1 && this.#options.isDefinite(error)) for (const one of group) await this.#share([one]);
      else for (const { reject } of group) reject(error);
    } finally {
      for (const one of group) this.#underWay.delete(one);
    }
  }
}

/** How many writers one commit round takes at most. */
const largestBatch = 64;

/**
 * The waiting writers of one branch in this process: one round runs at a time and takes all that have come meanwhile, in order.
 * Compare-and-swap on the ref alone starves writers when many want the same branch; the queue lets them share a round instead.
 */
export class BranchQueues<W> {
  readonly #round: (branch: string, writers: W[]) => Promise<void>;
  readonly #waiting = new Map<string, W[]>();
  readonly #running = new Set<Promise<void>>();

  /** @param round settles every writer it is given and never rejects */
  constructor(round: (branch: string, writers: W[]) => Promise<void>) {
    this.#round = round;
  }

  get busy(): boolean {
    return this.#running.size > 0;
  }

  add(branch: string, writer: W): void {
    const waiting = this.#waiting.get(branch);
    if (waiting !== undefined) {
      waiting.push(writer);
      return;
    }
    const own = [writer];
    this.#waiting.set(branch, own);
    const running = this.#drain(branch, own).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when no writer is left. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #drain(branch: string, waiting: W[]): Promise<void> {
    while (waiting.length > 0) await this.#round(branch, waiting.splice(0, largestBatch));
    this.#waiting.delete(branch);
  }
}

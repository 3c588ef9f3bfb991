/** Lets no more than so many at once, in all and of one group, in the order of coming. */
export class Turns {
  readonly #most: number;
  readonly #busy = new Map<number, number>();
  #all = 0;
  #waiting: { group: number; most: number; go: () => void }[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  get isIdle(): boolean {
    return this.#all === 0 && this.#waiting.length === 0;
  }

  /** Waits for a turn; `leave` must follow. @throws the signal's reason once it is aborted */
  async enter(group: number, most: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#has(group, most)) return this.#take(group);
    await new Promise<void>((resolve, reject) => {
      const waiting = { group, most, go: () => {} };
      const give = () => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        reject(signal.reason);
      };
      waiting.go = () => {
        signal.removeEventListener('abort', give);
        resolve();
      };
      signal.addEventListener('abort', give, { once: true });
      this.#waiting.push(waiting);
    });
  }

  leave(group: number): void {
    const busy = (this.#busy.get(group) ?? 1) - 1;
    if (busy === 0) this.#busy.delete(group);
    else this.#busy.set(group, busy);
    this.#all -= 1;
    const at = this.#waiting.findIndex((one) => this.#has(one.group, one.most));
    const [next] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (!next) return;
    this.#take(next.group);
    next.go();
  }

  #has(group: number, most: number): boolean {
    return this.#all < this.#most && (this.#busy.get(group) ?? 0) < most;
  }

  #take(group: number): void {
    this.#busy.set(group, (this.#busy.get(group) ?? 0) + 1);
    this.#all += 1;
  }
}

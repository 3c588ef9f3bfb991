/** Counts how often objects were met that cannot be read, per repository: what was made meanwhile lacks what they say, and is not to be kept. */
export class Damage {
  readonly #met = new Map<string, number>();

  note(repository: string): void {
    this.#met.set(repository, this.met(repository) + 1);
  }

  /** How often until now. */
  met(repository: string): number {
    return this.#met.get(repository) ?? 0;
  }
}

/** Wakes a loop that waits; one that rings while nobody waits is heard at once. */
export class Bell {
  #hasRung = false;
  #wake = () => {};

  readonly ring = (): void => {
    this.#hasRung = true;
    this.#wake();
  };

  /** Until it rings, for so many milliseconds at most. */
  async heard(within: number): Promise<void> {
    if (!this.#hasRung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, within);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#hasRung = false;
  }
}

/** Lets one wait for what others tell it, or for a time. */
export class Bell {
  #hasRung = false;
  #ring = () => {};

  ring(): void {
    this.#hasRung = true;
    this.#ring();
  }

  /** @returns when it has been rung since the last time, or after so many milliseconds */
  async heard(milliseconds: number): Promise<void> {
    if (!this.#hasRung)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        this.#ring = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    this.#hasRung = false;
    this.#ring = () => {};
  }
}

/**
 * Memory of bodies that is used again. What is thrown away with each call, and lives as long as a commit takes, keeps the collector of garbage
 * busy, for which all other calls wait.
 */
export class SpareBuffers {
  readonly #size: number;
  readonly #most: number;
  readonly #spare: Buffer[] = [];

  /**
   * @param size bytes of each
   * @param most so many are kept
   */
  constructor(size: number, most: number) {
    this.#size = size;
    this.#most = most;
  }

  /** Memory for so many bytes, which may hold anything; a new piece for more than one of these has. */
  take(bytes: number): Buffer {
    if (bytes > this.#size) return Buffer.allocUnsafeSlow(bytes);
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#size);
  }

  /** Gives memory back that nobody reads any more. To leave it out only costs what it saves. */
  give(buffer: Buffer): void {
    if (buffer.length === this.#size && this.#spare.length < this.#most) this.#spare.push(buffer);
  }
}

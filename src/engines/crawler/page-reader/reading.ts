import type { PageFacts } from '../../../domain/crawlers/pages/page-facts.ts';
import type { PageToRead } from '../../../domain/ports/page-reader.ts';

/** Larger documents are moved to a thread instead of copied, bytes. */
const largestCopy = 64 * 1024;

/** One call of `read`, from its queue to its end. */
export class Reading {
  readonly id: number;
  readonly page: PageToRead;
  /** Copied to its thread, and so can be sent to another one when that ends. */
  readonly isSmall: boolean;
  readonly facts: Promise<PageFacts>;
  readonly #settle: PromiseWithResolvers<PageFacts>;
  #partial: PageFacts | null = null;

  constructor(id: number, page: PageToRead) {
    this.id = id;
    this.page = page;
    this.isSmall = page.bytes.byteLength <= largestCopy;
    this.#settle = Promise.withResolvers();
    this.facts = this.#settle.promise;
  }

  /** What a message may take with it. Bytes that share their memory with others stay, and are copied. */
  get transferred(): ArrayBuffer[] {
    const { buffer, byteLength } = this.page.bytes;
    if (this.isSmall || !(buffer instanceof ArrayBuffer) || buffer.byteLength !== byteLength) return [];
    return [buffer];
  }

  partial(facts: PageFacts): void {
    this.#partial = facts;
  }

  done(facts: PageFacts): void {
    this.#settle.resolve(facts);
  }

  failed(error: Error): void {
    this.#settle.reject(error);
  }

  /** Its thread had to be ended. */
  cut(): void {
    const facts = this.#partial ?? nothing();
    this.#settle.resolve({ ...facts, faults: [...facts.faults, 'time'] });
  }
}

const nothing = (): PageFacts => ({
  charset: '',
  links: [],
  assets: [],
  canonical: null,
  robots: { noindex: false, nofollow: false, noarchive: false },
  linksCut: 0,
  faults: [],
});

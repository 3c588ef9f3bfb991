import { LRUCache } from 'lru-cache';
import type { Known } from './captured-before.ts';

/** Bytes of bodies that are kept at hand. */
const mostBytes = 32 * 2 ** 20;

/** What the pages of a run have in common: each is asked for once, also by pages that are loaded at the same time. */
export class SharedAnswers {
  readonly #kept = new LRUCache<string, Known>({
    maxSize: mostBytes,
    sizeCalculation: (known) => 500 + (known.kind === 'answer' ? known.answer.body.byteLength : 0),
  });
  readonly #asked = new Map<string, Promise<Known>>();

  /** @param ask is not called for what is known, or being asked for */
  async get(url: string, ask: () => Promise<Known>): Promise<Known> {
    const kept = this.#kept.get(url) ?? this.#asked.get(url);
    if (kept) return kept;
    const asking = ask().finally(() => this.#asked.delete(url));
    this.#asked.set(url, asking);
    const known = await asking;
    this.#kept.set(url, known);
    return known;
  }
}

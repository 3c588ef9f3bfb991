import type { Step } from '../../definition/step.schema.ts';
import type { Outcome } from './plan.ts';

/** What is settled of a loop, so that ten thousand iterations are not looked at again with every step. */
export class Loop {
  readonly #items: readonly unknown[];
  readonly #outputs: unknown[] = [];
  readonly #isSettled: boolean[] = [];
  #settled = 0;
  #first = 0;

  constructor(items: readonly unknown[]) {
    this.#items = items;
  }

  /** How many iterations have come to their end, of how many. */
  get progress(): { done: number; total: number } {
    return { done: this.#settled, total: this.#items.length };
  }

  /** How the loop stands; `iterate` says how one of its iterations does. */
  plan(
    { concurrency = 1, item_on_error }: Extract<Step, { type: 'for_each' }>,
    iterate: (index: number, item: unknown) => Outcome,
  ): Outcome {
    let underWay = 0;
    for (let index = this.#first; index < this.#items.length && underWay < concurrency; index += 1) {
      if (this.#isSettled[index]) continue;
      const outcome = iterate(index, this.#items[index]);
      if (outcome.kind === 'ended') return outcome;
      if (outcome.kind === 'failed' && item_on_error !== 'continue') return outcome;
      if (outcome.kind === 'open') underWay += 1;
      else this.#settle(index, outcome.kind === 'done' ? outcome.output : null);
    }
    return this.#settled < this.#items.length ? { kind: 'open' } : { kind: 'done', output: this.#outputs };
  }

  #settle(index: number, output: unknown): void {
    this.#outputs[index] = output;
    this.#isSettled[index] = true;
    this.#settled += 1;
    while (this.#isSettled[this.#first]) this.#first += 1;
  }
}

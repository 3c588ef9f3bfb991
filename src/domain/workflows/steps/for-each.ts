import { z } from 'zod';
import { day } from '../definition/duration.ts';
import { evaluateExpression } from '../expressions/evaluate.ts';
import { expression, failed, limited, type Outcome, type Progress, type StepList, stepType } from './step-type.ts';

const schema = (list: StepList) =>
  z.strictObject({
    ...limited(31 * day),
    type: z.literal('for_each'),
    items: expression,
    concurrency: z.int().min(1).max(20).optional(),
    item_on_error: z.enum(['fail', 'continue']).optional(),
    do: list.min(1, 'needs a step'),
  });

type ForEachStep = z.output<ReturnType<typeof schema>>;

const mostItems = 10_000;

/** JSONata makes a single value of a list of one, and nothing of an empty one. */
const listOf = (value: unknown): unknown[] =>
  Array.isArray(value) ? [...value] : value === undefined || value === null ? [] : [value];

/** What is settled of a loop, so that ten thousand iterations are not looked at again with every step. */
class Loop {
  readonly #items: readonly unknown[];
  readonly #outputs: unknown[] = [];
  readonly #isSettled: boolean[] = [];
  #settled = 0;
  #first = 0;

  constructor(items: readonly unknown[]) {
    this.#items = items;
  }

  /** How many iterations have come to their end, of how many. */
  get progress(): Progress {
    return { done: this.#settled, total: this.#items.length };
  }

  /** How the loop stands; `iterate` says how one of its iterations does. */
  plan({ concurrency = 1, item_on_error }: ForEachStep, iterate: (index: number, item: unknown) => Outcome): Outcome {
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

/** Does its steps once for each item of a list; its output is the list of theirs. */
export const forEach = stepType<ForEachStep>({
  type: 'for_each',
  schema,
  expressions: ['items'],
  lists: (step) => [{ place: ['do'], path: '', steps: step.do, runs: 'per_item' }],
  boundsInner: true,
  tolerates: ({ item_on_error }) => item_on_error === 'continue',
  async begin(step, evaluation) {
    const items = listOf(await evaluateExpression(step.items, evaluation));
    if (items.length > mostItems)
      return failed('too_many_items', `items: there are ${items.length}; at most ${mostItems} are gone through`);
    return { status: 'running', input: { items } };
  },
  plan(step, input, walk) {
    const loop = walk.keep(() => new Loop((input as { items: unknown[] }).items));
    return loop.plan(step, (index, item) => walk.list(`[${index}]`, step.do, { item, index }));
  },
});

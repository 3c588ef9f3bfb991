import { describe, expect, it } from 'vitest';
import { FairQueue, groupSlots } from '../../src/lib/fair-queue.ts';
import fc from '../support/properties.ts';

interface Item {
  caller: string;
  number: number;
}

/** Lists in place of the queue's tables: the callers in the order of the round, each with its items. */
class Model {
  round: { caller: string; items: Item[] }[] = [];

  add(item: Item): void {
    const own = this.round.find(({ caller }) => caller === item.caller);
    if (own) own.items.push(item);
    else this.round.push({ caller: item.caller, items: [item] });
  }

  delete(item: Item): boolean {
    const had = this.all().includes(item);
    for (const own of this.round) own.items = own.items.filter((one) => one !== item);
    this.round = this.round.filter(({ items }) => items.length > 0);
    return had;
  }

  take(barred: string): Item | undefined {
    const own = this.round.find(({ caller }) => caller !== barred);
    const item = own?.items.shift();
    if (own) this.round = [...this.round.filter((one) => one !== own), own].filter(({ items }) => items.length > 0);
    return item;
  }

  all(): Item[] {
    return this.round.flatMap(({ items }) => items).sort((a, b) => a.number - b.number);
  }
}

const callers = ['a', 'b', 'c', 'd'];
const steps = fc.array(
  fc.oneof(
    fc.record({ add: fc.constantFrom(...callers) }),
    fc.record({ take: fc.constantFrom('', ...callers) }),
    fc.record({ delete: fc.nat(20) }),
  ),
  { maxLength: 80 },
);

describe('a fair queue', () => {
  it('goes round robin by caller and keeps the order of each, whatever comes, is taken and gives up', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const [queue, model] = [new FairQueue<Item>(), new Model()];
        const known: Item[] = [];
        for (const step of all) {
          if ('add' in step) {
            const item = { caller: step.add, number: known.length };
            known.push(item);
            queue.add(item.caller, item);
            model.add(item);
          } else if ('take' in step) {
            expect(queue.take(({ caller }) => caller !== step.take)).toBe(model.take(step.take));
          } else {
            const item = known[step.delete];
            if (item) expect(queue.delete(item)).toBe(model.delete(item));
          }
          expect([...queue]).toEqual(model.all());
          expect(queue.size).toBe(model.all().length);
          for (const caller of callers)
            expect(queue.sizeOf(caller)).toBe(model.all().filter((item) => item.caller === caller).length);
        }
      }),
    );
  });

  it('takes out all that may be had in one pass, in the order of one after the other', () => {
    const arrivals = fc.array(fc.record({ caller: fc.constantFrom(...callers), size: fc.integer({ min: 1, max: 9 }) }));
    fc.assert(
      fc.property(arrivals, fc.nat(60), (all, room) => {
        const [together, single] = [new FairQueue<object>(), new FairQueue<object>()];
        for (const item of all) for (const queue of [together, single]) queue.add(item.caller, item);
        let looks = 0;
        const within = () => {
          let left = room;
          return (item: object) => {
            const { size } = item as { size: number };
            looks += 1;
            if (size > left) return false;
            left -= size;
            return true;
          };
        };
        const mayHave = within();
        const expected: object[] = [];
        for (let one = single.take(mayHave); one; one = single.take(mayHave)) expected.push(one);
        looks = 0;
        expect([...together.takeAll(within())]).toEqual(expected);
        expect(looks).toBeLessThanOrEqual(callers.length + expected.length);
        expect([...together]).toEqual([...single]);
        expect(Array.from(all, () => together.take())).toEqual(Array.from(all, () => single.take()));
      }),
    );
  });

  it('takes at most one item of each other caller before the next of one that waits, and loses none', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...callers), { maxLength: 60 }), (arrivals) => {
        const queue = new FairQueue<Item>();
        for (const [number, caller] of arrivals.entries()) queue.add(caller, { caller, number });
        const taken = arrivals.flatMap(() => queue.take() ?? []);
        expect(queue.take()).toBeUndefined();
        expect(taken.map(({ number }) => number).sort((a, b) => a - b)).toEqual([...arrivals.keys()]);
        for (const caller of callers) {
          const own = taken.filter((item) => item.caller === caller);
          expect(own).toEqual(own.toSorted((a, b) => a.number - b.number));
          const places = taken.flatMap((item, at) => (item.caller === caller ? [at] : []));
          for (const [turn, place] of places.entries()) {
            const before = taken.slice(turn === 0 ? 0 : (places[turn - 1] ?? 0) + 1, place).map((item) => item.caller);
            expect(new Set(before).size).toBe(before.length);
          }
        }
      }),
    );
  });
});

it('has what is put back in front again: first its callers, and of each what was taken', () => {
  const queue = new FairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) queue.add(item.charAt(0), item);
  const taken = Array.from({ length: 4 }, () => queue.take() ?? '');
  expect(taken).toEqual(['a1', 'b1', 'c1', 'a2']);
  queue.add('d', 'd1');
  queue.putBack(taken.slice(1).map((item) => [item.charAt(0), item]));
  expect([queue.size, queue.sizeOf('a'), [...queue][0]]).toEqual([6, 2, 'b1']);
  const rest = Array.from({ length: 6 }, () => queue.take());
  expect(rest).toEqual(['b1', 'c1', 'a2', 'd1', 'b2', 'a3']);
  expect(queue.take()).toBeUndefined();
});

it('leaves slots of groups to others: a quarter, of which some are for groups that have none', () => {
  const slots = groupSlots(16);
  const take = (group: string) =>
    Array.from({ length: 16 }, () => slots.takeNow(group)).filter((taken) => taken !== null);
  const [first, second] = [take('a'), take('b')];
  expect([first.length, second.length]).toEqual([12, 2]);
  expect(['c', 'c', 'd', 'e'].map((group) => slots.takeNow(group) !== null)).toEqual([true, false, true, false]);
  first[0]?.();
  expect(['a', 'b', 'e'].map((group) => slots.takeNow(group) !== null)).toEqual([false, false, true]);
});

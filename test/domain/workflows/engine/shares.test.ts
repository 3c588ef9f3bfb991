import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { callSlots } from '../../../../src/domain/workflows/engine/admission.ts';
import type { Caller } from '../../../../src/ports/expressions.ts';
import fc from '../../../support/properties.ts';

/** Slots with calls that go on until they are ended by hand. */
function held(most: number) {
  const slots = callSlots(most);
  const acting: { caller: Caller; end(): void }[] = [];
  const all: Promise<void>[] = [];
  const countOf = (fits: (caller: Caller) => boolean) => acting.filter(({ caller }) => fits(caller)).length;
  return {
    acting,
    call(workflow_id: string, organization_id: number) {
      const caller = { workflow_id, organization_id };
      const work = () =>
        new Promise<void>((resolve) => {
          const one = {
            caller,
            end: () => {
              acting.splice(acting.indexOf(one), 1);
              resolve();
            },
          };
          acting.push(one);
        });
      all.push(slots.run(caller, work));
    },
    ofWorkflow: (id: string) => countOf(({ workflow_id }) => workflow_id === id),
    ofOrganization: (id: number) => countOf(({ organization_id }) => organization_id === id),
    settled: () => Promise.all(all),
  };
}

describe('calls of a process', () => {
  it('are half of them one workflow’s at most, and three quarters one organisation’s, an eighth for the first call of others', async () => {
    const { call, ofWorkflow, ofOrganization, acting } = held(50);
    for (let count = 0; count < 60; count += 1) call('slow', 1);
    await setImmediate();
    expect(ofWorkflow('slow')).toBe(25);
    for (let count = 0; count < 60; count += 1) call('beside', 1);
    await setImmediate();
    expect([ofWorkflow('beside'), ofOrganization(1)]).toEqual([6, 31]);
    for (let count = 0; count < 10; count += 1) call(`one more ${count}`, 1);
    await setImmediate();
    expect(ofOrganization(1)).toBe(37);
    for (let count = 0; count < 60; count += 1) call('other', 2);
    await setImmediate();
    expect([ofWorkflow('other'), acting.length]).toEqual([7, 44]);
    for (let count = 0; count < 60; count += 1) call(`other ${count}`, 3);
    await setImmediate();
    expect(acting).toHaveLength(50);
  });

  it('of a third workflow begin at once beside two slow ones of its organisation, and go before theirs', async () => {
    const { call, ofWorkflow, acting } = held(50);
    for (let count = 0; count < 60; count += 1) {
      call('slow', 1);
      call('slower', 1);
    }
    call('quick', 1);
    call('quick', 1);
    await setImmediate();
    expect(ofWorkflow('quick')).toBe(1);
    acting.find(({ caller }) => caller.workflow_id === 'quick')?.end();
    await setImmediate();
    expect(ofWorkflow('quick')).toBe(1);
    expect(ofWorkflow('slow') + ofWorkflow('slower')).toBe(31);
  });

  it('of another workflow begin at once beside sixty slow ones', async () => {
    const { call, ofWorkflow } = held(50);
    for (let count = 0; count < 60; count += 1) call('slow', 1);
    call('quick', 1);
    await setImmediate();
    expect(ofWorkflow('quick')).toBe(1);
  });

  it('are let in workflow by workflow, in the order of each', async () => {
    const { call, acting } = held(2);
    for (const [id, organization] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
      ['c', 3],
      ['d', 4],
    ] as const)
      call(id, organization);
    const order: string[] = [];
    await setImmediate();
    while (acting.length > 0) {
      const [first] = acting;
      if (first) order.push(first.caller.workflow_id);
      first?.end();
      await setImmediate();
    }
    expect(order).toEqual(['a', 'b', 'c', 'd', 'c']);
  });

  it('is never none: one slot serves everybody', async () => {
    const { call, acting } = held(1);
    call('a', 1);
    call('b', 1);
    await setImmediate();
    expect(acting).toHaveLength(1);
    acting[0]?.end();
    await setImmediate();
    expect(acting.map(({ caller }) => caller.workflow_id)).toEqual(['b']);
  });

  it('all come to their end, never more at once than may be, in whatever order they end', async () => {
    const some = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat()), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 12 }), some, async (most, calls) => {
        const { call, acting, ofWorkflow, ofOrganization, settled } = held(most);
        // Two organisations have two workflows each.
        for (const [workflow] of calls) call(workflow, workflow < 'c' ? 1 : 2);
        for (let left = calls.length; left > 0; left -= 1) {
          await setImmediate();
          expect(acting.length).toBeGreaterThan(0);
          expect(acting.length).toBeLessThanOrEqual(most);
          for (const id of ['a', 'b', 'c', 'd'])
            expect(ofWorkflow(id)).toBeLessThanOrEqual(Math.max(Math.floor(most / 2), 1));
          for (const id of [1, 2])
            expect(ofOrganization(id)).toBeLessThanOrEqual(Math.max(Math.floor((most * 3) / 4), 1));
          const pick = (calls[left - 1]?.[1] ?? 0) % acting.length;
          acting[pick]?.end();
        }
        await settled();
      }),
      { numRuns: 100 },
    );
  });
});

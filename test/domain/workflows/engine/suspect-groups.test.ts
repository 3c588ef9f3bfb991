import { describe, expect, it } from 'vitest';
import { largestGroup, lossesOf, Suspects, type Suspicion } from '../../../../src/domain/workflows/engine/workers.ts';
import fc from '../../../support/properties.ts';

/** Losses that condemn an execution. */
const mostCrashes = 5;
/** Losses of one that kills every process it acts in: as no suspect yet, then in halves of the largest group, then alone. */
const mostLosses = 1 + Math.log2(largestGroup) + mostCrashes;

interface Execution {
  id: string;
  isDeadly: boolean;
  attempt: number;
  has_acted: boolean;
  suspect: Suspicion;
  suspect_group: number | null;
  crashes: number;
  losses: number;
}

interface Worker {
  suspects: Suspects<Execution>;
  held: Set<Execution>;
}

/** Workers that take executions up and die, as the engine and `buryWorkers` do it. */
class Model {
  open: Execution[];
  free: Execution[];
  condemned: Execution[] = [];
  readonly workers: Worker[];
  time = 0;

  constructor({ all, deadly, workers }: { all: number; deadly: readonly number[]; workers: number }) {
    this.open = Array.from({ length: all }, (_, index) => ({
      id: String(index).padStart(3, '0'),
      isDeadly: deadly.includes(index),
      attempt: 0,
      has_acted: false,
      suspect: null,
      suspect_group: null,
      crashes: 0,
      losses: 0,
    }));
    this.free = [...this.open];
    this.workers = Array.from({ length: workers }, () => this.#fresh());
  }

  #fresh(): Worker {
    return { suspects: new Suspects<Execution>(() => this.time), held: new Set() };
  }

  acting({ held }: Worker): Execution[] {
    return [...held].filter(({ suspect }) => suspect !== 'waiting');
  }

  take(worker: Worker, most: number): void {
    const taken = this.free.splice(0, most);
    for (const row of taken) {
      row.attempt += 1;
      row.has_acted ||= row.suspect === null;
      worker.held.add(row);
    }
    worker.suspects.add(taken.filter(({ suspect }) => suspect !== null));
    this.#letIn(worker);
  }

  #letIn(worker: Worker): void {
    for (let row = worker.suspects.next(); row !== null; row = worker.suspects.next()) {
      row.suspect = 'acting';
      row.has_acted = true;
      const group = this.acting(worker).filter(({ suspect }) => suspect === 'acting');
      expect(group.length).toBeLessThanOrEqual(largestGroup);
      for (const { suspect_group } of group) expect(group.length).toBeLessThanOrEqual(suspect_group ?? largestGroup);
    }
  }

  finish(worker: Worker, row: Execution): void {
    worker.held.delete(row);
    this.open = this.open.filter((one) => one !== row);
    worker.suspects.end(row, true);
    this.#letIn(worker);
  }

  look(worker: Worker): void {
    this.#letIn(worker);
  }

  die(worker: Worker): void {
    const acting = this.acting(worker);
    const group = acting.filter(({ suspect }) => suspect === 'acting');
    for (const loss of lossesOf([...worker.held])) {
      const row = this.open.find(({ id }) => id === loss.id) as Execution;
      if (loss.counts) expect(group.length === 0 ? acting : group).toEqual([row]);
      row.losses += loss.wasActing ? 1 : 0;
      row.crashes += loss.counts ? 1 : 0;
      row.suspect_group = loss.suspect_group;
      if (loss.wasActing || row.suspect !== null) row.suspect = 'waiting';
      if (row.crashes < mostCrashes) this.free.push(row);
      else this.condemned.push(row);
    }
    this.open = this.open.filter((row) => !this.condemned.includes(row));
    Object.assign(worker, this.#fresh());
  }
}

const models = fc.record({
  all: fc.integer({ min: 1, max: 80 }),
  deadly: fc.array(fc.nat(79), { maxLength: 3 }),
  workers: fc.integer({ min: 1, max: 3 }),
});

describe('suspects', () => {
  it('that kill their processes are condemned after few losses; all others complete, and only one that acted alone is counted', () => {
    fc.assert(
      fc.property(models, fc.infiniteStream(fc.nat(9_999)), (options, picks) => {
        const model = new Model(options);
        const pick = (below: number) => (picks.next().value as number) % Math.max(below, 1);
        for (let turns = 0; model.open.length > 0; turns += 1) {
          expect(turns).toBeLessThan(20_000);
          model.time += pick(400);
          const worker = model.workers[pick(model.workers.length)] as Worker;
          model.take(worker, pick(60));
          model.look(worker);
          const acting = model.acting(worker);
          const row = acting[pick(acting.length)];
          if (row?.isDeadly === true) model.die(worker);
          else if (row) model.finish(worker, row);
        }
        const deadly = options.deadly.filter((index) => index < options.all);
        expect(model.condemned.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(
          [...new Set(deadly)].sort((a, b) => a - b),
        );
        for (const { losses } of model.condemned) expect(losses).toBeLessThanOrEqual(mostLosses);
      }),
    );
  });

  it('that only were in the way of a storm of kills clear in rounds that double, not one after another', () => {
    const model = new Model({ all: 100, deadly: [], workers: 1 });
    const [worker] = model.workers as [Worker];
    model.take(worker, 100);
    model.die(worker);
    model.take(worker, 100);
    const rounds: number[] = [];
    while (model.open.length > 0) {
      const group = model.acting(worker);
      rounds.push(group.length);
      for (const row of group) model.finish(worker, row);
    }
    expect(rounds).toEqual([1, 2, 4, 8, 16, 32, 32, 5]);
    model.free.push(
      ...new Model({ all: 2, deadly: [], workers: 0 }).open.map((row) => ({ ...row, suspect: 'waiting' as const })),
    );
    model.open = [...model.free];
    model.take(worker, 2);
    expect(model.acting(worker)).toHaveLength(1);
  });
});

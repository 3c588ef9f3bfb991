import { performance } from 'node:perf_hooks';
import type { Engine } from '../engine.ts';
import type { Fixtures } from '../fixtures.ts';
import { count, type SourceReport, type Tally } from '../report.ts';

/** What the checks of one source share. */
export interface Trial {
  engine: Engine;
  report: SourceReport;
  fixtures: Fixtures;
  seed: string;
}

/** Runs a function of the engine against the clock of its kind. */
export function timed<Result>({ report }: Trial, kind: keyof SourceReport['times'], run: () => Result): Result {
  const start = performance.now();
  try {
    return run();
  } finally {
    const timing = report.times[kind];
    timing.count++;
    timing.milliseconds += performance.now() - start;
  }
}

/** Counts a judgement: null is exact. */
export function settle(tally: Tally, fault: string | null): void {
  if (fault === null) tally.exact++;
  else {
    tally.wrong++;
    count(tally.faults, fault);
  }
}

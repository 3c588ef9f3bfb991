import type { Hold } from '../checkpoints/checkpoint.ts';
import { Journal } from '../journal/journal.ts';
import { Planner } from '../plan/planner.ts';
import { Standing } from '../standing.ts';
import { StepWork } from '../work/step-work.ts';
import type { Claimed } from './claimed.ts';
import type { DriverBench } from './driver-bench.ts';
import { Records } from './records.ts';
import { rootsOf } from './roots.ts';
import type { Signals } from './signals.ts';

/** What a driver works with. */
export interface DriverParts {
  standing: Standing;
  journal: Journal;
  planner: Planner;
  work: StepWork;
  records: Records;
  /** What expressions see, with what is in sight at one place. */
  rootsAt(at: object): Record<string, unknown>;
}

/** Puts together what it takes to advance an execution from where its rows say it stands. */
export function makeParts(
  { services, calls, random, writer }: DriverBench,
  claimed: Claimed,
  {
    hold,
    signals,
    onCancel,
    onCleared,
  }: { hold: Hold; signals: Signals; onCancel(reason: string): void; onCleared(): void },
): DriverParts {
  const { row, runs, guide } = claimed;
  const standing = new Standing(row);
  const journal = new Journal(services.sharedClock, row.state?.events ?? 1);
  journal.load(runs);
  const rootsAt = (at: object) => rootsOf(claimed, standing, services.settings, { at, now: journal.now });
  return {
    standing,
    journal,
    planner: new Planner(guide.definition, journal.runs),
    rootsAt,
    work: new StepWork({
      services,
      execution_id: row.id,
      guide,
      journal,
      calls,
      signal: signals.ended,
      random,
      rootsAt: (scope) => rootsAt(scope.roots()),
      answered: () => signals.bell.ring(),
    }),
    records: new Records({
      hold,
      writer,
      blobs: services.blobs,
      journal,
      standing,
      onWord: () => signals.word(),
      onCancel,
      onCleared,
    }),
  };
}

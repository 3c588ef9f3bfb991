import type { Services } from '../../../services.ts';
import type { Outcome } from '../../frontier/outcome.ts';
import type { TurnResult } from '../../frontier/turn/turn-input.ts';

/** Counts what a turn has written. @param milliseconds it took */
export function reportTurn(
  metrics: Services['metrics'],
  outcomes: readonly Outcome[],
  { held }: TurnResult,
  milliseconds: number,
): void {
  const counts: Record<string, number> = {};
  for (const { state } of outcomes) counts[state] = (counts[state] ?? 0) + 1;
  metrics.crawlTurn({
    seconds: milliseconds / 1_000,
    outcomes: counts,
    captured: outcomes.filter(({ state, sha256 }) => state === 'done' && sha256 !== null).length,
    bytes: outcomes.reduce((sum, { bytes_wire }) => sum + bytes_wire, 0),
    slowed: held.size,
  });
}

import type { Services } from '../../services.ts';
import { inputOf } from '../executions/input-of.ts';
import { type ClaimedRow, setAside } from './claim.ts';
import { mostCrashes } from './driver/advance.ts';
import type { Claimed } from './driver/claimed.ts';
import type { Guides } from './guides.ts';
import type { StepState } from './plan/step-state.ts';
import { readStepRows } from './step-rows.ts';

/** How long executions of a deleted project are left alone, milliseconds. */
const deletedPause = 600_000;

/** What cannot be read is an error, unless the execution is only to be ended. */
const orNothing =
  <T>(isGivenUp: boolean, nothing: T) =>
  (error: unknown): T => {
    if (isGivenUp) return nothing;
    throw error;
  };

/**
 * Reads what a driver needs to know of an execution that was claimed.
 * @param known step runs by execution; null: they could not be read together
 * @returns null when its project is deleted: it is left alone, for that may come back
 */
export async function readClaimed(
  services: Services,
  guides: Guides,
  row: ClaimedRow,
  known: ReadonlyMap<string, StepState[]> | null,
): Promise<Claimed | null> {
  const fork = () => services.orm.em.fork();
  const guide = await guides.find(fork, row.workflow_id, row.version);
  if (guide === null) {
    await setAside(fork(), row, new Date(services.clock.now().getTime() + deletedPause));
    return null;
  }
  const isGivenUp = row.crashes >= mostCrashes;
  const runs = known ?? (await readStepRows(fork(), services, [row.id]).catch(orNothing(isGivenUp, new Map())));
  const input = await inputOf(fork, services, row).catch(orNothing(isGivenUp, null));
  return { row, guide, runs: runs.get(row.id) ?? [], input };
}

import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../services.ts';
import type { Delivery } from '../deliveries/delivery.entity.ts';
import { deliveriesOf, inputOf } from '../executions/input-of.ts';
import type { ClaimedRow } from './claim.ts';
import type { Claimed } from './driver/claimed.ts';
import type { Guides } from './guides.ts';
import type { StepState } from './plan/step-state.ts';
import { readStepRows } from './step-rows.ts';
import { letGo, mostCrashes } from './workers.ts';

/** How long executions of a deleted project are left alone, milliseconds. */
const deletedPause = 600_000;

/** What cannot be read is an error, unless the execution is only to be ended. */
const orNothing =
  <T>(isGivenUp: boolean, nothing: T) =>
  (error: unknown): T => {
    if (isGivenUp) return nothing;
    throw error;
  };

/** What executions have beside their own rows. */
export interface Belongings {
  /** Step runs by execution. */
  runs: ReadonlyMap<string, StepState[]>;
  /** By their own ids. */
  deliveries: ReadonlyMap<string, Delivery>;
}

/** Reads what executions have that were claimed together, in a query for each kind. */
export async function readBelongings(
  em: EntityManager,
  services: Pick<Services, 'blobs'>,
  rows: readonly ClaimedRow[],
): Promise<Belongings> {
  const begun = rows.filter(({ state }) => state !== null).map(({ id }) => id);
  return { runs: await readStepRows(em, services, begun), deliveries: await deliveriesOf(em, rows) };
}

/**
 * Reads what a driver needs to know of an execution that was claimed.
 * @param known null: those that were claimed together could not be read together
 * @returns null when its project is deleted: it is left alone, for that may come back
 */
export async function readClaimed(
  services: Services,
  guides: Guides,
  row: ClaimedRow,
  known: Belongings | null,
): Promise<Claimed | null> {
  const fork = () => services.orm.em.fork();
  const guide = await guides.find(fork, row.workflow_id, row.version);
  if (guide === null) {
    await letGo(services, [row], deletedPause);
    return null;
  }
  const isGivenUp = row.crashes >= mostCrashes;
  const nothing: Belongings = { runs: new Map(), deliveries: new Map() };
  const { runs, deliveries } =
    known ?? (await readBelongings(fork(), services, [row]).catch(orNothing(isGivenUp, nothing)));
  const input = await inputOf(services, row, deliveries).catch(orNothing(isGivenUp, null));
  return { row, guide, runs: runs.get(row.id) ?? [], input };
}

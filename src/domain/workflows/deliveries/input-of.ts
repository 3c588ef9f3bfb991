import type { EntityManager } from '@mikro-orm/postgresql';
import type { Execution } from '../executions/execution.entity.ts';
import { Delivery } from './delivery.entity.ts';
import { inputOfDelivery } from './delivery-input.ts';

type Started = Pick<Execution, 'input' | 'delivery_id'>;

/** The delivery an execution has its input from; null: it has one of its own, or none. */
const sourceOf = ({ input, delivery_id }: Started): string | null =>
  (input ?? null) === null ? (delivery_id ?? null) : null;

/** The deliveries that executions have their inputs from, by their ids, in one query. */
export async function deliveriesOf(em: EntityManager, rows: readonly Started[]): Promise<Map<string, Delivery>> {
  const ids = rows.map(sourceOf).filter((id) => id !== null);
  if (ids.length === 0) return new Map();
  const found = await em.find(Delivery, { id: { $in: [...new Set(ids)] } }, { disableIdentityMap: true });
  return new Map(found.map((delivery) => [delivery.id, delivery]));
}

/**
 * What an execution was started with; for one that a webhook started, what its delivery holds.
 * @param deliveries those of `deliveriesOf`
 */
export async function inputOf(
  services: Parameters<typeof inputOfDelivery>[0],
  row: Started,
  deliveries: ReadonlyMap<string, Delivery>,
): Promise<unknown> {
  const source = sourceOf(row);
  if (source === null) return row.input ?? null;
  const delivery = deliveries.get(source);
  return delivery ? inputOfDelivery(services, delivery) : null;
}

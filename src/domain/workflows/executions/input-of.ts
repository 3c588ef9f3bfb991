import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../services.ts';
import { Delivery } from '../deliveries/delivery.entity.ts';
import { inputOfDelivery } from '../deliveries/delivery-input.ts';
import type { Execution } from './execution.entity.ts';

/** What an execution was started with; for one that a webhook started, what its delivery holds. */
export async function inputOf(
  em: () => EntityManager,
  services: Services,
  { input, delivery_id }: Pick<Execution, 'input' | 'delivery_id'>,
): Promise<unknown> {
  if ((input ?? null) !== null || delivery_id === null || delivery_id === undefined) return input ?? null;
  const delivery = await em().findOne(Delivery, { id: delivery_id }, { disableIdentityMap: true });
  return delivery ? inputOfDelivery(services, delivery) : null;
}

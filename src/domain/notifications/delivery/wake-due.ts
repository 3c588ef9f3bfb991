import type { Services } from '../../services.ts';
import { type WaitingDelivery, wakeDelivery } from '../notify.ts';

/** How long a delivery may be due before it is looked for, milliseconds: its job was lost with a worker, or never put in. */
const lateness = 30_000;
const atOnce = 500;

/** Wakes workers for deliveries that nobody has come for. */
export async function wakeDueDeliveries(services: Services): Promise<void> {
  const now = services.clock.now();
  const em = services.orm.em.fork();
  // Written after now: the clock was set back, and nothing says by how much, so these are due.
  await em.execute(
    `update notification set next_attempt_at = ?
     where status = 'pending' and next_attempt_at > ? and (leased_until is null or leased_until <= ?) and coalesce(
       (select max(at) from notification_attempt where notification_id = notification.id), created_at) > ?`,
    [new Date(now.getTime() - lateness - 1), now, now, new Date(now.getTime() + lateness)],
  );
  const rows = await em.execute<WaitingDelivery[]>(
    `select id, crawler_id from notification
     where status = 'pending' and next_attempt_at < ? and (leased_until is null or leased_until < ?)
     order by next_attempt_at limit ?`,
    [new Date(now.getTime() - lateness), now, atOnce],
  );
  for (const row of rows) await em.transactional((own) => wakeDelivery(own, services, row));
}

import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** `dropped`: the crawler had no address any more when its turn came. */
export const deliveryStatuses = ['pending', 'delivered', 'failed', 'dropped'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** One event for a crawler's webhook; the row is the outbox. */
export const NotificationRow = defineEntity({
  name: 'Notification',
  tableName: 'notification',
  properties: {
    id: p.integer().primary().autoincrement(),
    /** `webhook-id`: the same in every attempt. */
    event_id: p.text().unique(),
    crawler_id: p.integer(),
    type: p.text(),
    /** The exact text that is sent and signed. */
    payload: p.text(),
    status: p.text().$type<DeliveryStatus>(),
    /** Attempts since it was queued, by its event or by hand. */
    tries: p.integer().default(0),
    next_attempt_at: p.datetime(3).nullable(),
    /** A worker is sending it until then. */
    leased_until: p.datetime(3).nullable(),
    created_at: p.datetime(3),
  },
});
export type NotificationRow = InferEntity<typeof NotificationRow>;

/** One attempt to deliver: what was answered, or why nothing was. */
export const NotificationAttempt = defineEntity({
  name: 'NotificationAttempt',
  tableName: 'notification_attempt',
  properties: {
    id: p.bigint().primary().autoincrement(),
    notification_id: p.integer(),
    at: p.datetime(3),
    duration_ms: p.integer(),
    status: p.integer().nullable(),
    /** Name of what went wrong: an `HttpFailure`, or `status`. */
    error: p.text().nullable(),
    /** Beginning of the answer's body. */
    answer: p.text().nullable(),
  },
});
export type NotificationAttempt = InferEntity<typeof NotificationAttempt>;

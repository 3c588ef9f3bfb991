import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { Crawler } from '../crawlers/config/crawler.entity.ts';
import { DomainError } from '../errors.ts';
import type { notificationDelivery } from './deliveries.schema.ts';
import type { EventType } from './event-payload.ts';
import { NotificationAttempt, NotificationRow } from './notification.entity.ts';

type Record = z.output<typeof notificationDelivery>;

/**
 * A notification of a crawler; `lock` holds its row until the transaction ends.
 * @throws DomainError `not_found` for one that is unknown or of another crawler
 */
export async function findDelivery(
  em: EntityManager,
  crawler: Pick<Crawler, 'id'>,
  id: number,
  { lock = false }: { lock?: boolean } = {},
): Promise<NotificationRow> {
  const where = { id, crawler_id: crawler.id };
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const row = await em.findOne(NotificationRow, where, { refresh: true, ...(lock && { lockMode }) });
  if (!row) throw new DomainError('not_found', 'Delivery not found');
  return row;
}

/** Deliveries as callers see them, in the order given. */
export async function deliveryRecords(em: EntityManager, rows: readonly NotificationRow[]): Promise<Record[]> {
  const where = { notification_id: { $in: rows.map(({ id }) => id) } };
  const all = rows.length > 0 ? await em.find(NotificationAttempt, where, { orderBy: { id: 'asc' } }) : [];
  return rows.map(({ id, event_id, type, status, next_attempt_at, payload, created_at }) => ({
    id,
    event_id,
    type: type as EventType,
    status,
    attempts: all
      .filter(({ notification_id }) => notification_id === id)
      .map((one) => ({
        at: one.at,
        duration_ms: one.duration_ms,
        status: one.status ?? null,
        error: one.error ?? null,
        answer: one.answer ?? null,
      })),
    next_attempt_at: next_attempt_at ?? null,
    payload: JSON.parse(payload),
    created_at,
  }));
}

export async function deliveryRecord(em: EntityManager, row: NotificationRow): Promise<Record> {
  const [record] = await deliveryRecords(em, [row]);
  return record as Record;
}

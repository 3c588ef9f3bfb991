import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import type { Services } from '../../kernel/services.ts';
import { uuid7 } from '../../lib/ids.ts';
import type { JobKind } from '../../ports/jobs.ts';
import { type EventData, type EventPlace, type EventType, eventPayload } from './event-payload.ts';
import { NotificationRow } from './notification.entity.ts';

/** Has a worker try one delivery. Tries have a schedule of their own, so the queue repeats only what a worker that died has left. */
export const notifyJob = {
  name: 'notify',
  payload: z.object({ notification_id: z.int() }),
  retries: 5,
  expireSeconds: 120,
} satisfies JobKind;

/** What the notifier knows of a crawler. */
interface Recipient extends EventPlace {
  /** Null: no webhook. */
  url: string | null;
}

const placeSql = `
  select organization.machine_name as organization, project.machine_name as project,
    crawler.id, crawler.uuid, crawler.name, crawler.domain, crawler.settings
  from crawler join project on project.id = project_id join organization on organization.id = organization_id
  where crawler.id = ? and project.deleted_at is null`;

interface PlaceRow {
  organization: string;
  project: string;
  id: number;
  uuid: string;
  name: string;
  domain: string;
  settings: { webhook_url?: string | null; webhook_extra_vars?: string | null };
}

async function placeOf(em: EntityManager, crawler_id: number): Promise<Recipient | null> {
  const [row] = await em.execute<PlaceRow[]>(placeSql, [crawler_id]);
  if (!row) return null;
  const { organization, project, id, uuid, name, domain, settings } = row;
  return {
    organization,
    project,
    crawler: { id, uuid, name, domain },
    extraVars: settings.webhook_extra_vars ?? undefined,
    url: settings.webhook_url ?? null,
  };
}

/** An organisation has as many receivers that never answer as it wants: its deliveries leave room for those of others. */
const ownerSql = 'select organization_id from project join crawler on project.id = project_id where crawler.id = ?';

/** What names a delivery and whose it is. */
export type WaitingDelivery = Pick<NotificationRow, 'id' | 'crawler_id'>;

/** Puts the job of a delivery in with the transaction. A queue that is starting loses nothing: the minute's tick looks for what waits. */
export async function wakeDelivery(
  em: EntityManager,
  { jobs, log }: Pick<Services, 'jobs' | 'log'>,
  { id, crawler_id }: WaitingDelivery,
  delaySeconds?: number,
): Promise<void> {
  try {
    const [owner] = await em.execute<{ organization_id: number }[]>(ownerSql, [crawler_id]);
    const group = String(owner?.organization_id);
    const given = { em, group, ...(delaySeconds !== undefined && { delaySeconds }) };
    await jobs.send(notifyJob, { notification_id: id }, given);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    log.debug({ err: error }, 'a notification waits for the next look');
  }
}

/**
 * Notifies a crawler's webhook of an event: the row of the outbox and its job are written in the transaction of `em`, so it is notified exactly
 * when what happened is committed. Nothing is written for a crawler without `webhook_url`, or of a deleted project.
 * @returns the number of the delivery, or null without a webhook
 */
export async function notify(
  em: EntityManager,
  services: Pick<Services, 'jobs' | 'log' | 'clock'>,
  crawler: { id: number },
  type: EventType,
  data: EventData = {},
): Promise<number | null> {
  const place = await placeOf(em, crawler.id);
  if (!place?.url) return null;
  const now = services.clock.now();
  const event_id = `msg_${uuid7(now).replaceAll('-', '')}`;
  const id = await em.insert(NotificationRow, {
    event_id,
    crawler_id: crawler.id,
    type,
    payload: eventPayload(event_id, type, now, place, data),
    status: 'pending',
    tries: 0,
    next_attempt_at: now,
    created_at: now,
  });
  await wakeDelivery(em, services, { id, crawler_id: crawler.id });
  return id;
}

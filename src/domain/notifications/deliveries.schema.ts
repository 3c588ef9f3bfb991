import { z } from 'zod';
import { crawlerName } from '../crawlers/config/crawler.schema.ts';
import { pageInput } from '../paging.ts';
import { timestamp } from '../shapes.ts';
import { eventTypes } from './event-payload.ts';
import { deliveryStatuses } from './notification.entity.ts';

export const deliveryName = { ...crawlerName, delivery: z.int32().describe('Delivery ID') };

const status = z.enum(deliveryStatuses).meta({ id: 'NotificationDeliveryStatus' });

export const deliveriesWanted = z.object({ ...pageInput, ...crawlerName, status: status.optional() });

const attempt = z
  .object({
    at: timestamp,
    duration_ms: z.int32(),
    status: z.int32().nullable().describe('What was answered; null: nothing'),
    error: z.string().nullable().describe('Name of what went wrong'),
    answer: z.string().nullable().describe('The first KiB of the answer'),
  })
  .meta({ id: 'NotificationAttempt' });

export const notificationDelivery = z
  .object({
    id: z.int32(),
    event_id: z.string().describe('`webhook-id`, the same in every attempt'),
    type: z.enum(eventTypes),
    status,
    attempts: z.array(attempt).describe('Oldest first'),
    next_attempt_at: timestamp.nullable(),
    payload: z.record(z.string(), z.unknown()).describe('What is sent'),
    created_at: timestamp,
  })
  .meta({ id: 'NotificationDelivery' });

export const webhookSecret = z
  .object({ secret: z.string().describe('`whsec_` and the key in base64 (Standard Webhooks)') })
  .meta({ id: 'WebhookSecret' });

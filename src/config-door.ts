import { z } from 'zod';
import type { DoorLimits } from './domain/workflows/webhook/admission.ts';

const units: Record<string, number> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** A size as `1048576` or `100 MiB`, in bytes. */
const bytes = z
  .string()
  .regex(/^\d{1,12} *([KMG]iB)?$/, 'must be a number of bytes, such as 26214400 or 25MiB')
  .transform((text) => Number.parseInt(text, 10) * (units[/[A-Za-z]+$/.exec(text)?.[0] ?? ''] ?? 1))
  .refine((size) => size >= 1024 && size <= 2 ** 30, 'must be 1KiB to 1GiB');

/** The settings of webhooks among those of a process. */
export const doorSettings = {
  PORTICO_WEBHOOK_BODY_LIMIT: bytes
    .default(25 * 2 ** 20)
    .describe('Largest body of a webhook call, before and after it is inflated'),
  PORTICO_WEBHOOK_MEMORY: bytes
    .default(256 * 2 ** 20)
    .describe('Bodies of webhook calls a process holds at the same time'),
  PORTICO_WORKFLOW_BACKLOG: z.coerce
    .number('must be a number')
    .int()
    .min(0)
    .max(10_000_000)
    .default(100_000)
    .describe('Pending executions of an organisation above which its webhooks answer 429'),
};

type DoorConfig = { [Name in keyof typeof doorSettings]: z.output<(typeof doorSettings)[Name]> };

/** The same for the domain. */
export const doorLimitsOf = (config: DoorConfig & { PORTICO_REDACT_HEADERS: string[] }): DoorLimits => ({
  body_bytes: config.PORTICO_WEBHOOK_BODY_LIMIT,
  memory_bytes: config.PORTICO_WEBHOOK_MEMORY,
  backlog: config.PORTICO_WORKFLOW_BACKLOG,
  redact_headers: config.PORTICO_REDACT_HEADERS.map((name) => name.toLowerCase()),
});

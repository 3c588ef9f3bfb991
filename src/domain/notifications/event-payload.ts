/** The events of a crawler's webhook. */
export const eventTypes = [
  'crawler.run.started',
  'crawler.run.completed',
  'crawler.run.failed',
  'crawler.run.stopped',
  'crawler.run.canceled',
  'crawler.run.skipped',
  'crawler.snapshot.published',
  'crawler.snapshot.held',
  'crawler.verification.lost',
  'crawler.test',
] as const;
export type EventType = (typeof eventTypes)[number];

/** What an event says beside the crawler it is of; whatever does not apply is left out. */
export interface EventData {
  run?: {
    id: number;
    trigger: string;
    schedule_id: number | null;
    status: string;
    reason: string | null;
    /** Unix seconds. */
    started_at: number | null;
    completed_at: number | null;
    duration_ms: number | null;
  };
  /** The counters of the run (`CrawlerRunCounts`). */
  counts?: object;
  /** `checks`: what it was looked over for, with the numbers. */
  snapshot?: { id: number; state: string; published: boolean; checks?: readonly object[] };
  /** Of a run that has ended: at most ten. */
  first_errors?: readonly { url: string; error: string }[];
  /** A fire of a schedule that started nothing. */
  schedule?: { id: number; name: string; fire_at: string; reason: 'overlap' | 'missed'; missed: number };
  /** The domain that is not proved any more. */
  verification?: { host: string; method: string | null; state: string };
}

/** Where an event happened. */
export interface EventPlace {
  organization: string;
  project: string;
  crawler: { id: number; uuid: string; name: string; domain: string };
  /** `webhook_extra_vars` as they are set. */
  extraVars: string | undefined;
}

const mostBytes = 64 * 1024;
const mostErrors = 10;

/** `webhook_extra_vars` decoded as a query string (WHATWG URL, `application/x-www-form-urlencoded`); the last value of a key wins. */
export function extraOf(vars: string | undefined): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(vars ?? ''));
}

/**
 * The text of a notification, below 64 KiB: examples of errors are left out, the last first, when they would make it longer.
 * @param at when the event happened
 */
export function eventPayload(id: string, type: EventType, at: Date, place: EventPlace, data: EventData): string {
  const { organization, project, crawler, extraVars } = place;
  const extra = extraOf(extraVars);
  const errors = data.first_errors?.slice(0, mostErrors);
  for (;;) {
    const text = JSON.stringify({
      id,
      type,
      timestamp: at.toISOString(),
      data: { organization, project, crawler, ...data, ...(errors && { first_errors: errors }) },
      extra,
    });
    if (Buffer.byteLength(text) < mostBytes || !errors?.length) return text;
    errors.pop();
  }
}

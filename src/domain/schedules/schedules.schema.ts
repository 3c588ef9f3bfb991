import { z } from 'zod';
import { CronError, parseCron } from './cron-expression.ts';
import { isTimeZone } from './local-time.ts';

/** Why a text is no cron expression; null when it is one. */
function faultOf(text: string): string | null {
  try {
    parseCron(text);
    return null;
  } catch (error) {
    if (error instanceof CronError) return error.message;
    throw error;
  }
}

/** Five fields, trimmed at its ends. */
export const cronString = z
  .string('must be a string')
  .trim()
  .superRefine((text, context) => {
    const message = faultOf(text);
    if (message !== null) context.addIssue({ code: 'custom', message });
  })
  .describe('Standard Unix cron expression: minute, hour, day-of-month, month, day-of-week');

export const timeZone = z
  .string('must be a string')
  .refine(isTimeZone, 'must be a time zone of the IANA database, such as Europe/Berlin')
  .describe('IANA time zone; default UTC');

import { parseCron } from './cron-expression.ts';
import { type Fires, firesOf } from './next-fires.ts';

/** What a schedule goes by; both are checked when it is saved. */
export interface Timing {
  schedule_cron_string: string;
  timezone: string;
}

export const firesOfTiming = ({ schedule_cron_string, timezone }: Timing): Fires =>
  firesOf(parseCron(schedule_cron_string), timezone);

/** What may fire by a clock: without an expression, or when it is off, it never does. */
interface Timed {
  enabled: boolean;
  schedule_cron_string?: string | null | undefined;
  timezone?: string | null | undefined;
}

/** When it fires next; null: never. */
export const nextFireOf = ({ enabled, schedule_cron_string: cron, timezone }: Timed, now: Date): Date | null =>
  enabled && cron != null
    ? firesOfTiming({ schedule_cron_string: cron, timezone: timezone ?? 'UTC' }).after(now)
    : null;

/** When a schedule that is due must fire, as seen from now. */
export interface DueFire {
  /** The newest of its times that have come. */
  fire_at: Date;
  /** How many earlier ones have passed since it was last looked at; not counted beyond `mostMissed`. */
  missed: number;
  /** It has come within the grace. */
  in_time: boolean;
  next_fire_at: Date | null;
}

export const mostMissed = 1_000;

/**
 * What a schedule whose next time was `due` comes to at `now`.
 * @param grace milliseconds a fire may be late
 */
export function dueFire(timing: Timing, due: Date, now: Date, grace: number): DueFire {
  const fires = firesOfTiming(timing);
  // A time that is none of the expression's (any more) counts as one, so that it is over and done with.
  const fire_at = fires.newest(due, now) ?? due;
  return {
    fire_at,
    missed: fires.count(due, fire_at, mostMissed),
    in_time: now.getTime() - fire_at.getTime() <= grace,
    next_fire_at: fires.after(now),
  };
}

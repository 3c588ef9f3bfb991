import { Cron } from 'croner';
import { LRUCache } from 'lru-cache';
import { mapYielding } from '../../lib/concurrency.ts';
import { type CronExpression, parseCron } from './cron-expression.ts';
import { localTime, minute, momentsOf, setBack } from './local-time.ts';

/** Longest time between two dates that fall on the same day of the week, 29 February over 2100: what is skipped as long as that always is. */
const longestRepeat = 41 * 365.25 * 24 * 60 * minute;

/** Answers the first matching local time after another one; null after the last one. */
type NextLocal = (after: number) => number | null;

/** croner gets the sets, not the text, so that only the day rule is left to it; it runs on a clock without zones. */
function localTimes({ minutes, hours, days, months, weekdays, daysAnd }: CronExpression): NextLocal {
  const all = (values: readonly number[], span: number) => (values.length === span ? '*' : values.join(','));
  // Without the star flag a written-out range counts as restricted, so it must not become a star.
  const byDay = daysAnd ? [all(days, 31), all(weekdays, 7)] : [days.join(','), weekdays.join(',')];
  const pattern = [all(minutes, 60), all(hours, 24), byDay[0], all(months, 12), byDay[1]].join(' ');
  const cron = new Cron(pattern, { mode: '5-part', domAndDow: daysAnd, utcOffset: 0, paused: true });
  return (after) => cron.nextRun(new Date(after))?.getTime() ?? null;
}

/** When a schedule fires. */
interface Fires {
  /** The first fire after an instant; null after the last one. */
  after(instant: Date): Date | null;
  /** The fires after an instant, one by one. @param most as many of them */
  following(instant: Date, most?: number): Generator<Date, undefined>;
  /** The last fire not before `from` and not after `to`; null without one. */
  newest(from: Date, to: Date): Date | null;
  /** How many fires there are from `from` until before `to`, counted up to `most`. */
  count(from: Date, to: Date, most: number): number;
}

/**
 * The fires of an expression in a zone. A local time that is skipped fires when the clock is set forward, unless the hour begins with `*`:
 * then the expression goes by the time that passes. A local time that comes twice fires the first time, and the second time too when minute or
 * hour begins with `*`.
 */
export function firesOf(expression: CronExpression, zone: string): Fires {
  const nextLocal = localTimes(expression);
  const twice = expression.minuteStar || expression.hourStar;

  function after(instant: Date): Date | null {
    const from = Math.floor(instant.getTime() / minute) * minute;
    const isLater = (moment: number | null): moment is number => moment !== null && moment > instant.getTime();
    let repeated: number | null = null;
    // Local times before the present one are still to come when the clock is set back.
    let local = nextLocal(localTime(from, zone) - setBack(from, zone) - minute);
    const last = (local ?? 0) + longestRepeat;
    while (local !== null && local < last) {
      const { first, second, skipped } = momentsOf(local, zone);
      if (twice && repeated === null && isLater(second)) repeated = second;
      if (skipped && expression.hourStar) {
        // The rest of what the clock was set forward over is skipped, too: it need not be gone through minute by minute.
        local = nextLocal(localTime(first, zone) - minute);
        continue;
      }
      if (!isLater(first)) {
        local = nextLocal(local);
        continue;
      }
      return new Date(repeated === null ? first : Math.min(first, repeated));
    }
    return repeated === null ? null : new Date(repeated);
  }

  function* following(instant: Date, most = Number.POSITIVE_INFINITY): Generator<Date, undefined> {
    let last = instant;
    for (let number = 0; number < most; number += 1) {
      const fire = after(last);
      if (fire === null) return;
      yield fire;
      last = fire;
    }
  }

  function newest(from: Date, to: Date): Date | null {
    const earliest = from.getTime() - 1;
    for (let span = 60 * minute; ; span *= 2) {
      const start = new Date(Math.max(earliest, to.getTime() - span));
      let found: Date | null = null;
      for (const fire of following(start)) {
        if (fire > to) break;
        found = fire;
      }
      if (found !== null || start.getTime() === earliest) return found;
    }
  }

  function count(from: Date, to: Date, most: number): number {
    let number = 0;
    for (const fire of following(new Date(from.getTime() - 1), most)) {
      if (fire >= to) break;
      number += 1;
    }
    return number;
  }

  return { after, following, newest, count };
}

/** What a schedule goes by; both are checked when it is saved. */
export interface Timing {
  schedule_cron_string: string;
  timezone: string;
}

export const firesOfTiming = ({ schedule_cron_string, timezone }: Timing): Fires =>
  firesOf(parseCron(schedule_cron_string), timezone);

/** The first fires after an instant, as they were found. */
interface Found {
  after: Date;
  fires: readonly Date[];
  /** No more come after them. */
  isAll: boolean;
}

/** By expression and zone. Years may have to be gone through for one time, or to learn that no time comes. */
const remembered = new LRUCache<string, Found>({ max: 1_000 });

/** The first fires of a timing after an instant, found in steps. What was found before stays right until the first of it has passed. */
export async function nextFires(timing: Timing, after: Date, count: number): Promise<readonly Date[]> {
  const key = JSON.stringify([timing.schedule_cron_string, timing.timezone]);
  const known = remembered.get(key);
  const isRight = known !== undefined && known.after <= after && known.fires.slice(0, 1).every((fire) => fire > after);
  if (isRight && (known.isAll || known.fires.length >= count)) return known.fires.slice(0, count);
  const fires = await mapYielding(firesOfTiming(timing).following(after, count), (fire) => fire);
  remembered.set(key, { after, fires, isAll: fires.length < count });
  return fires;
}

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

const mostMissed = 1_000;

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

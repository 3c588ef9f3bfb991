import { describe, expect, it } from 'vitest';
import {
  afterSignal,
  allowance,
  gapOf,
  type HostPace,
  type HostSignal,
  horizon,
  SlotClock,
  takeSlots,
} from '../../../../src/domain/crawlers/hosts/host-pace.ts';
import fc from '../../../support/properties.ts';

const fresh: HostPace = { host: 'h', next_at: 0, delay: 0, paused_until: 0, failures: 0, pauses: 0, good: 0 };
const good: HostSignal = { kind: 'good' };
const failed: HostSignal = { kind: 'failed' };
const throttled = (retryAfter: number | null = null, isFirst = true): HostSignal => ({
  kind: 'throttled',
  isFirst,
  retryAfter,
});

/** Applies signals one after another, each a second later than a pause that the one before may have begun. */
function paceAfter(signals: readonly HostSignal[], configured = 0, from: HostPace = fresh) {
  let pace = from;
  let now = 1_000_000;
  let downs = 0;
  for (const signal of signals) {
    now = Math.max(now, pace.paused_until) + 1_000;
    const after = afterSignal(pace, signal, { configured, now });
    pace = after.pace;
    if (after.isDown) downs += 1;
  }
  return { pace, now, downs };
}
const times = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

describe('a host that is throttled', () => {
  it('gets requests half as often, from a second up to a minute', () => {
    expect(paceAfter([throttled()]).pace.delay).toBe(1);
    expect(paceAfter(times(3, throttled())).pace.delay).toBe(4);
    expect(paceAfter(times(9, throttled())).pace.delay).toBe(60);
    expect(paceAfter([throttled()], 4).pace.delay).toBe(8);
    expect(paceAfter([throttled(), throttled(null, false)]).pace.delay).toBe(1);
  });

  it('gets requests a tenth more often after twenty good answers, until it is as configured', () => {
    const slow = { ...fresh, delay: 10 };
    expect(paceAfter(times(19, good), 4, slow).pace.delay).toBe(10);
    expect(paceAfter(times(20, good), 4, slow).pace.delay).toBe(9);
    expect(paceAfter(times(20 * 9, good), 4, slow).pace.delay).toBe(0);
  });

  it('is left alone as long as it says', () => {
    const { pace, now } = paceAfter([throttled(30)]);
    expect(pace.paused_until).toBe(now + 30_000);
    expect(allowance(pace, 0, now + 29_999, 10)).toBe(0);
    expect(allowance(pace, 0, now + 30_000, 10)).toBe(10);
  });
});

describe('a host that does not answer', () => {
  it('is paused after ten failures in a row, each pause twice the last', () => {
    expect(paceAfter(times(9, failed)).pace.paused_until).toBe(0);
    const { pace, now } = paceAfter(times(10, failed));
    expect(pace.paused_until).toBe(now + 60_000);
    const second = paceAfter(times(20, failed));
    expect(second.pace.paused_until).toBe(second.now + 120_000);
    expect(paceAfter([...times(9, failed), good, ...times(9, failed)]).pace.paused_until).toBe(0);
  });

  it('is given up after five pauses', () => {
    expect(paceAfter(times(59, failed)).downs).toBe(0);
    expect(paceAfter(times(60, failed)).downs).toBe(1);
  });

  it('is not blamed for what was under way when its pause began', () => {
    const { pace, now } = paceAfter(times(10, failed));
    expect(afterSignal(pace, failed, { configured: 0, now: now + 1 }).pace).toEqual(pace);
  });
});

const pace = fc.record({
  next_at: fc.integer({ min: 0, max: 2_000_000 }),
  delay: fc.double({ min: 0, max: 60, noNaN: true }),
});

it('starts are never closer together than the delay, and none lies beyond the horizon', () => {
  fc.assert(
    fc.property(
      pace,
      fc.double({ min: 0, max: 10, noNaN: true }),
      fc.integer({ min: 1, max: 100 }),
      (given, configured, most) => {
        const now = 1_000_000;
        const host = { ...fresh, ...given };
        const gap = gapOf(host, configured);
        fc.pre(gap > 0);
        const count = allowance(host, gap, now, most);
        expect(count).toBeLessThanOrEqual(most);
        const { starts, next_at } = takeSlots(host, gap, now, count);
        const all = [...starts, next_at];
        for (const [index, start] of all.slice(1).entries())
          expect(start - (all[index] ?? 0)).toBeGreaterThanOrEqual(Math.max(given.delay, configured) * 1_000);
        for (const start of starts) {
          expect(start).toBeGreaterThanOrEqual(Math.max(now, host.next_at));
          expect(start).toBeLessThanOrEqual(now + horizon + 20);
        }
      },
    ),
  );
});

const epoch = 1_750_000_000_000;

/** A process whose machine's clock is `wrong` milliseconds ahead of the database's. */
function processWith(wrong: number) {
  const at = { own: 1_000, database: epoch + 1_000 };
  const clock = new SlotClock({ own: () => at.own, machine: () => at.database + wrong });
  return {
    at,
    clock,
    /** Time that goes by for everyone. */
    pass(milliseconds: number) {
      at.own += milliseconds;
      at.database += milliseconds;
    },
    /** A look that takes so long before and after the database has reading its time. */
    look(before: number, after: number) {
      const sent = at.own;
      this.pass(before);
      const reading = at.database;
      this.pass(after);
      clock.take({ sent, reading, received: at.own });
    },
    /** How far its clock is ahead of the database's. */
    get ahead() {
      return clock.now() - at.database;
    },
  };
}

it('is not put back by an answer that was waited for', () => {
  const one = processWith(0);
  for (const [before, after] of [
    [1, 1],
    [0, 3_000],
    [70, 0],
  ] as const) {
    one.look(before, after);
    expect(one.ahead).toBe(0);
  }
});

it('finds the database’s time though the machine’s clock goes wrong, as narrowly as its best samples allow', () => {
  for (const wrong of [60_000, -60_000]) {
    const one = processWith(wrong);
    expect(one.ahead).toBe(wrong);
    one.look(20, 50);
    expect(Math.abs(one.ahead)).toBeLessThanOrEqual(50);
    one.look(1, 2);
    one.look(300, 3_000);
    expect(Math.abs(one.ahead)).toBeLessThanOrEqual(2);
  }
});

it('follows a clock that is set, or goes a little faster', () => {
  const one = processWith(-500);
  one.look(1, 1);
  for (const set of [3_600_000, -3_600_000]) {
    one.at.database += set;
    one.look(2, 3);
    expect(Math.abs(one.ahead)).toBeLessThanOrEqual(3);
  }
  for (let second = 0; second < 600; second += 1) {
    one.pass(1_000);
    one.at.database += 0.5;
    one.look(1, 1);
    expect(Math.abs(one.ahead)).toBeLessThanOrEqual(3);
  }
});

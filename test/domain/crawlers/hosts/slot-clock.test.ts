import { expect, it } from 'vitest';
import { SlotClock } from '../../../../src/domain/crawlers/hosts/slot-clock.ts';

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

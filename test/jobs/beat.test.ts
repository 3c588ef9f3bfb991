import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { everyMinute, isNightDue } from '../../src/jobs/clock.ts';
import { onceOfAll } from '../../src/jobs/upkeep.ts';
import { shared, startTestApp } from '../support/app.ts';

const minute = 60_000;

describe('everyMinute', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: new Date('2026-11-23T12:00:20Z') });
  });
  afterEach(() => void vi.useRealTimers());

  it('beats at full minutes of the clock', () => {
    const at: string[] = [];
    const end = everyMinute(() => at.push(new Date().toISOString().slice(11, 19)));
    vi.advanceTimersByTime(3 * minute);
    end();
    vi.advanceTimersByTime(minute);
    expect(at).toEqual(['12:01:00', '12:02:00', '12:03:00']);
  });

  it.each([
    ['back by an hour', -60],
    ['forward by an hour', 60],
    ['back by half a minute', -0.5],
    ['forward by half a minute', 0.5],
  ])('delays no beat by more than a minute when the clock is set %s', (_how, minutes) => {
    let elapsed = 0;
    const beats: number[] = [];
    const end = everyMinute(() => beats.push(elapsed));
    for (let second = 0; second < 600; second += 1) {
      elapsed += 1;
      vi.advanceTimersByTime(1_000);
      if (second === 95) vi.setSystemTime(Date.now() + minutes * minute);
    }
    end();
    const waits = beats.map((at, index) => at - (beats[index - 1] ?? 0));
    expect(Math.max(...waits)).toBeLessThanOrEqual(60);
    // One more than without the jump at most: what is due is decided elsewhere.
    expect(beats.length).toBeLessThanOrEqual(11);
    expect(beats.length).toBeGreaterThanOrEqual(9);
  });
});

it.each([
  ['before its time', null, '2026-11-23T03:16:59Z', false],
  ['at its time', null, '2026-11-23T03:17:00Z', true],
  ['once done', '2026-11-23', '2026-11-23T03:18:00Z', false],
  ['later that day', '2026-11-23', '2026-11-23T23:59:00Z', false],
  ['before its time the next day', '2026-11-23', '2026-11-24T03:16:00Z', false],
  ['at its time the next day', '2026-11-23', '2026-11-24T03:17:00Z', true],
  ['after nights without a server', '2026-11-20', '2026-11-23T14:00:00Z', true],
  ['set back an hour over midnight', '2026-11-24', '2026-11-23T23:30:00Z', false],
  ['after a clock that was years ahead', '2031-01-01', '2026-11-23T04:00:00Z', true],
] as const)('what is done once a night, %s', (_when, last, now, isDue) => {
  expect(isNightDue(last, '03:17', new Date(now))).toBe(isDue);
});

describe('onceOfAll', () => {
  const app = shared(startTestApp);

  it('is done once a night by all processes together, also when the clock is set back and forward by an hour', async () => {
    let done = 0;
    const work = async () => {
      done += 1;
    };
    const all = async (time: string) => {
      app.clock.now = new Date(time);
      await Promise.all([1, 2, 3].map(() => onceOfAll(app.services, { night: '03:17' }, 'test', work)));
      return done;
    };
    expect(await all('2026-11-23T03:10:00Z')).toBe(0);
    expect(await all('2026-11-23T03:17:00Z')).toBe(1);
    expect(await all('2026-11-23T04:17:00Z')).toBe(1);
    expect(await all('2026-11-23T02:17:00Z')).toBe(1);
    expect(await all('2026-11-23T03:17:00Z')).toBe(1);
    expect(await all('2026-11-24T00:30:00Z')).toBe(1);
    expect(await all('2026-11-24T03:20:00Z')).toBe(2);
    expect(await all('2026-11-24T02:20:00Z')).toBe(2);
  });
});

import { describe, expect, it } from 'vitest';
import { Activity } from '../../src/lib/timing.ts';

describe('a quiet moment', () => {
  it('has come when no request has been noted', async () => {
    await new Activity().quiet(Number.POSITIVE_INFINITY);
  });

  it('lets what waits for the event loop go first', async () => {
    const order: string[] = [];
    setImmediate(() => order.push('other work'));
    await new Activity().quiet(0);
    expect(order).toEqual(['other work']);
  });

  it('comes some time after the last request', async () => {
    const activity = new Activity();
    const noted = performance.now();
    activity.note();
    await activity.quiet(60_000);
    expect(performance.now() - noted).toBeGreaterThan(10);
  });

  it('is waited for no longer than the given time while requests keep coming', async () => {
    const activity = new Activity();
    activity.note();
    const requests = setInterval(() => activity.note(), 5);
    try {
      const began = performance.now();
      await activity.quiet(100);
      expect(performance.now() - began).toBeGreaterThanOrEqual(99);
    } finally {
      clearInterval(requests);
    }
  });
});

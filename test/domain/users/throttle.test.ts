import { beforeEach, describe, expect, it } from 'vitest';
import { beginAttempt, pruneThrottle, SignInThrottle } from '../../../src/domain/users/throttle.ts';
import type { DomainError } from '../../../src/kernel/errors.ts';
import { shared, startTestApp } from '../../support/app.ts';

const app = shared(startTestApp);
const start = Date.UTC(2026, 10, 24);
const at = (seconds: number) => {
  app.clock.now = new Date(start + seconds * 1000);
};
beforeEach(async () => {
  await app.services.orm.em.fork().nativeDelete(SignInThrottle, {});
  at(0);
});

/** Seconds to wait; 0 for an attempt that may be made, which then fails. */
async function fail(account: string, address = '192.0.2.1'): Promise<number> {
  try {
    await beginAttempt(app.services, account, address);
    return 0;
  } catch (error) {
    return (error as DomainError).details?.retry_after as number;
  }
}
const times = async (count: number, attempt: (index: number) => Promise<number>) => {
  const waits = [];
  for (let index = 0; index < count; index += 1) waits.push(await attempt(index));
  return waits;
};
const none = (count: number) => Array(count).fill(0);

describe('attempts at passwords', () => {
  it('are refused for an account and address block after ten failures, each time for twice as long, up to 15 min', async () => {
    expect(await times(11, () => fail('a'))).toEqual([...none(10), 60]);
    at(59.5);
    expect(await fail('a', '192.0.2.200')).toBe(1);
    at(60);
    expect(await times(2, () => fail('a'))).toEqual([0, 120]);
    at(180);
    expect(await times(2, () => fail('a'))).toEqual([0, 240]);
    at(420);
    expect(await times(2, () => fail('a'))).toEqual([0, 480]);
    at(899);
    expect(await fail('a')).toBe(1);
    at(900);
    expect(await times(11, () => fail('a'))).toEqual([...none(10), 60]);
  });

  it('leave other accounts of the block alone until 50 have failed there', async () => {
    expect(await times(50, (index) => fail(`account ${index}`))).toEqual(none(50));
    expect(await fail('yet another')).toBe(60);
    expect(await fail('yet another', '192.0.3.1')).toBe(0);
  });

  it('keep no one out who comes from another address', async () => {
    await times(11, () => fail('a'));
    expect([await fail('a', '192.0.3.1'), await fail('a', '2001:db8::1')]).toEqual([0, 0]);
    await times(11, () => fail('b', '2001:db8::1'));
    expect([await fail('b', '2001:db8::ffff:1'), await fail('b', '2001:db8:0:1::1')]).toEqual([60, 0]);
  });

  it('that succeed reset their pair only, and count for nothing in the block', async () => {
    await times(9, () => fail('a'));
    await times(9, () => fail('b'));
    const attempt = await beginAttempt(app.services, 'a', '192.0.2.1');
    await attempt.succeeded();
    expect(await times(2, () => fail('b'))).toEqual([0, 60]);
    expect(await times(11, () => fail('a'))).toEqual([...none(10), 60]);
    for (let time = 0; time < 60; time += 1)
      await (await beginAttempt(app.services, `good ${time}`, '198.51.100.1')).succeeded();
    expect(await fail('good', '198.51.100.1')).toBe(0);
  });

  it('that are made at the same time are all counted', async () => {
    const waits = await Promise.all(Array.from({ length: 25 }, () => fail('a')));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(10);
  });

  it('are forgotten when they block nothing any more', async () => {
    await times(11, () => fail('a'));
    await pruneThrottle(app.services);
    expect(await fail('a')).toBe(60);
    at(901);
    await pruneThrottle(app.services);
    expect(await app.services.orm.em.fork().count(SignInThrottle)).toBe(0);
  });
});

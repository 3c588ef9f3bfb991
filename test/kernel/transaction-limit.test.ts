import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { TransactionLimit } from '../../src/db/transaction-limit.ts';
import { acme, shared, startTestApp } from '../support/app.ts';

describe('commands that wait for a row', () => {
  const app = shared(startTestApp);

  // Not in a transaction, which sees the activity of one moment.
  const waiting = () =>
    app.services.orm.em
      .fork()
      .execute(`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
  const make = (token: string) => {
    const body = { domain: 'https://example.com' };
    return app.ask('POST', `${acme}/projects/site/crawlers`, { token, body });
  };

  it.each([
    { callers: 1, connections: 3 },
    { callers: 3, connections: 5 },
  ])('keep $connections of ten connections when $callers send them', async ({ callers, connections }) => {
    const tokens = await Promise.all(
      Array.from({ length: callers }, () => app.makeToken(['edit_crawlers', 'browse_crawlers'])),
    );
    let made: ReturnType<typeof make>[] = [];
    // On a busy machine the reads below can take longer than a transaction waits.
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    await app.services.orm.em.fork().transactional(async (holder) => {
      await holder.execute(`select 1 from project where machine_name = 'site' for no key update`);
      made = tokens.flatMap((token) => Array.from({ length: 12 }, () => make(token)));
      await expect.poll(waiting).toHaveLength(connections);
      for (let at = 0; at < 10; at += 1) expect((await app.ask('GET', `${acme}/projects`)).status).toBe(200);
      expect(await waiting()).toHaveLength(connections);
    });
    const statuses = (await Promise.all(made)).map(({ status }) => status);
    expect(statuses).toEqual(Array<number>(12 * callers).fill(200));
  });
});

describe('a transaction', () => {
  const caller = { actor: 'user:1', organization: 1 };

  it('is refused after ten seconds of waiting', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const transactions = new TransactionLimit(2);
      const first = Promise.withResolvers<string>();
      const under = transactions.run(caller, () => first.promise);
      const late = transactions.run(caller, async () => 'late');
      await setImmediate();
      vi.advanceTimersByTime(10_001);
      first.resolve('first');
      expect(await under).toBe('first');
      await expect(late).rejects.toMatchObject({ code: 'unavailable' });
      expect(await transactions.run(caller, async () => 'next')).toBe('next');
    } finally {
      vi.useRealTimers();
    }
  });

  it('begins at once for callers of another organisation', async () => {
    const transactions = new TransactionLimit(2);
    const first = Promise.withResolvers<string>();
    const under = transactions.run(caller, () => first.promise);
    expect(await transactions.run({ actor: 'user:2', organization: 2 }, async () => 'other')).toBe('other');
    first.resolve('first');
    await under;
  });
});

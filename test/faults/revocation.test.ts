import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { restClient } from '../support/rest-client.ts';
import { twoServers } from '../support/two-servers.ts';

/** Ends the connections on which the servers are notified of revocations. @returns how many there were. */
async function cutListeners(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const statement =
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'portico-listener' and datname = current_database()";
  const { rowCount } = await client.query(statement).finally(() => client.end());
  return rowCount ?? 0;
}

test.each([
  ['with', false],
  ['without', true],
])(
  '%s its listening connection a server refuses a token within a second of its revocation by another',
  async (_how, cut) => {
    const { url, one, other, owner, reader } = await twoServers();
    const requested = restClient(one.url, reader.text);
    const answers: { at: number; status: number }[] = [];
    let stop = false;
    const loop = (async () => {
      while (!stop) {
        const at = performance.now();
        answers.push({ at, status: (await requested.get('/organizations/demo')).status });
      }
    })();
    // The grant is in the cache by now.
    await vi.waitFor(() => expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(20), {
      timeout: 60_000,
      interval: 5,
    });
    if (cut) expect(await cutListeners(url)).toBe(2);
    const path = `/organizations/demo/tokens/${reader.id}`;
    expect((await restClient(other.url, owner.text).send('DELETE', path, {})).status).toBe(200);
    const revokedAt = performance.now();
    await vi.waitFor(() => expect(answers.at(-1)?.status).toBe(401), { timeout: 60_000, interval: 5 });
    stop = true;
    await loop;
    const first = answers.findIndex(({ status }) => status === 401);
    expect(answers.slice(first).every(({ status }) => status === 401)).toBe(true);
    // By the notification, not when a cached grant is 30 s old.
    expect(answers[first - 1]?.at ?? 0).toBeLessThan(revokedAt + 20_000);
    // The other server has used the token never, this one often: both refuse it, and the owner's is good in both.
    expect((await restClient(other.url, reader.text).get('/organizations/demo')).status).toBe(401);
    expect((await restClient(one.url, owner.text).get('/organizations/demo')).status).toBe(200);
  },
);

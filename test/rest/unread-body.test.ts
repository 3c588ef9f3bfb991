import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { acme, shared, startTestApp, studio } from '../support/app.ts';

const app = shared(startTestApp);
let reader: string;
beforeAll(async () => {
  reader = await app.makeToken(['browse_studio']);
});

/** Announces a body and sends the first bytes of it. @returns the answer that comes nevertheless */
function announce(path: string, token: string | null, headers: Record<string, string>) {
  const id = randomUUID();
  return new Promise<{ status: number | undefined; id: string }>((resolve, reject) => {
    const sent = request(`${app.url}${path}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'X-Request-Id': id,
        ...(token !== null && { Authorization: `Bearer ${token}` }),
        ...headers,
      },
    });
    sent.once('response', (response) => {
      resolve({ status: response.statusCode, id });
      sent.destroy();
    });
    sent.once('error', reject);
    sent.write('{"actions":[');
  });
}

const rowsOf = (id: string) =>
  app.services.orm.em.fork().execute('select action, outcome from audit where request_id = ?', [id]);

describe('a large body is not waited for', () => {
  const changes = `${studio}/changes`;

  it.each([
    ['of a length that is announced', { 'Content-Length': '40000000' }],
    ['of a length that is not known', { 'Transfer-Encoding': 'chunked' }],
  ])('where the caller has no right to it, %s', async (_what, headers) => {
    const { status, id } = await announce(changes, reader, headers);
    expect(status).toBe(403);
    expect(await rowsOf(id)).toEqual([{ action: 'studio.commitChanges', outcome: 'denied' }]);
  });

  it('where there is nothing to be changed', async () => {
    const headers = { 'Content-Length': '40000000' };
    expect((await announce(changes.replace('/site/', '/nowhere/'), app.token, headers)).status).toBe(404);
    expect((await announce(changes.replace('/acme/', '/nowhere/'), app.token, headers)).status).toBe(404);
    expect((await announce(changes, null, headers)).status).toBe(401);
  });
});

it('a short body is read first, and says in the log what was wanted', async () => {
  const body = { name: 'Wanted', machine_name: 'wanted' };
  const { status, headers } = await app.ask('POST', `${acme}/projects`, { token: reader, body });
  expect(status).toBe(403);
  const rows = await app.services.orm.em
    .fork()
    .execute('select changes from audit where request_id = ?', [headers.get('x-request-id')]);
  expect(rows).toEqual([{ changes: { name: 'Wanted', machine_name: 'wanted' } }]);
});

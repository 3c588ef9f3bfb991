import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { crawlersApi } from '../support/crawlers/crawlers-api.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ PORTICO_DATABASE_POOL: '2' });
});
afterAll(() => app?.stop());
const { change, made, read } = crawlersApi(() => app);

const each = <T>(make: (at: number) => Promise<T>) => Promise.all(Array.from({ length: 6 }, (_, at) => make(at)));

it('seals secrets while every connection belongs to a transaction that waits for its turn', async () => {
  const { uuid } = await made({});
  const answers = await each((at) => change(uuid, { domain: 'www.example.com', headers: { 'X-A': String(at) } }));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect((await read(uuid)).body.headers['X-A']).toMatch(/^[0-5]$/);
});

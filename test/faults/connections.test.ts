import { expect, it } from 'vitest';
import { shared, startTestApp } from '../support/app.ts';
import { crawlers, crawlersApi } from '../support/crawlers/crawlers-api.ts';
import { makeSnapshot } from '../support/crawlers/snapshots.ts';

const app = shared(() => startTestApp({ PORTICO_DATABASE_POOL: '2' }));
const { change, made, read } = crawlersApi(() => app);

const each = <T>(make: (at: number) => Promise<T>) => Promise.all(Array.from({ length: 6 }, (_, at) => make(at)));

it('seals secrets while every connection belongs to a transaction that waits for its turn', async () => {
  const { uuid } = await made({});
  const answers = await each((at) => change(uuid, { domain: 'www.example.com', headers: { 'X-A': String(at) } }));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect((await read(uuid)).body.headers['X-A']).toMatch(/^[0-5]$/);
});

it('makes links to previews for those whose rights and whose key have to be read first', async () => {
  const { id, uuid } = await made({});
  const snapshot = await makeSnapshot(app, id, { '/': '<p>Home</p>' });
  const path = `${crawlers}/${uuid}/snapshots/${snapshot?.id}`;
  const answers = await each((at) => app.ask('PATCH', path, { body: { pinned: at % 2 === 0 } }));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(answers[0]?.body.preview.url).toContain('portico_preview=');
});

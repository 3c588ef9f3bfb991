import { beforeAll, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';

const app = shared(startTestApp);
beforeAll(async () => {
  const long = `---\ntitle: Long\n---\n${'Words that go on. '.repeat(250_000)}\n`;
  const files = Array.from({ length: 5 }, (_, at) => [`content/posts/${at}.md`, long]);
  await seed(app, { ...Object.fromEntries(files), 'content/posts/9.md': '---\ntitle: Short\n---\nShort.\n' });
});

const ask = async (query: string) => (await app.ask('GET', `${studio}/collections/posts?${query}`)).body;

it('gives the bodies that fit into a page, and marks the entries whose bodies are left out', async () => {
  const entries = await ask('include=body');
  expect(entries.map(({ truncated }: { truncated?: true }) => truncated)).toEqual([
    ...[undefined, undefined, undefined],
    ...[true, true, true],
  ]);
  for (const { truncated, body } of entries) expect(body === undefined).toBe(truncated === true);
});

it('gives on another page what the one before left out', async () => {
  const [entry] = await ask('include=body&per_page=1&page=6');
  expect(entry).toMatchObject({ body: 'Short.\n' });
  expect(entry).not.toHaveProperty('truncated');
});

it('marks nothing without bodies', async () => {
  for (const entry of await ask('')) expect(entry).not.toHaveProperty('truncated');
});

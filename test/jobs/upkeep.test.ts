import { execFileSync } from 'node:child_process';
import { beforeAll, expect, it } from 'vitest';
import { maintainRepositories, runRetention } from '../../src/jobs/upkeep.ts';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';

const app = shared(startTestApp);
const day = 24 * 3600_000;
const sql = (text: string) => app.services.orm.em.fork().execute(text);

beforeAll(() => seed(app, { 'content/posts/a.md': '---\ntitle: A\n---\n\nText\n' }));

it('maintains the repositories that are due, and readers see the same', async () => {
  const { gitDir } = (await app.repository()) as unknown as { gitDir: string };
  const git = (...args: string[]) => execFileSync('git', ['-C', gitDir, ...args], { encoding: 'utf8' });
  for (let at = 0; at < 520; at += 1) {
    const body = { slug: 'a', body: `Text ${at}\n` };
    if (at % 20 === 0) await app.ask('PUT', `${studio}/collections/posts/a`, { body: { body: body.body } });
    else await seed(app, { 'content/posts/a.md': `---\ntitle: A\n---\n\n${body.body}` });
  }
  const loose = () => Number(/^count: (\d+)$/m.exec(git('count-objects', '-v'))?.[1]);
  expect(loose()).toBeGreaterThan(1_000);
  await maintainRepositories(app.services, new AbortController().signal);
  expect(loose()).toBeLessThan(200);
  expect(git('fsck', '--strict', '--no-dangling')).toBe('');
  expect((await app.ask('GET', `${studio}/collections/posts/a`)).body.body).toBe('Text 519\n');
  // It makes 520 commits, each of them durable.
});

it('removes what has been kept long enough, and nothing before', async () => {
  await app.ask('POST', `${acme}/projects`, { body: { name: 'Old' } });
  const old = await app.repository('old');
  await app.ask('DELETE', `${acme}/projects/old`);
  const rows = async () => Number(((await sql('select count(*) as n from audit')) as { n: string }[])[0]?.n);
  const before = await rows();
  app.clock.now = new Date(Date.now() + 29 * day);
  await runRetention(app.services, 365);
  expect(await app.services.git.exists(old.id)).toBe(true);
  expect(await rows()).toBe(before);
  app.clock.now = new Date(Date.now() + 31 * day);
  await runRetention(app.services, 365);
  expect(await app.services.git.exists(old.id)).toBe(false);
  expect(await sql("select 1 from project where machine_name = 'old'")).toEqual([]);
  app.clock.now = new Date(Date.now() + 400 * day);
  await runRetention(app.services, 365);
  expect(await rows()).toBe(0);
});

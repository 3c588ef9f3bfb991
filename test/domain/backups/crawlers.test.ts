import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { createProject } from '../../../src/domain/projects/projects.operations.ts';
import { type Answer, acme, shared, startTestApp } from '../../support/app.ts';
import { backUp, copyByBackup, restore } from '../../support/backups.ts';

const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: '*.docs.test' }));
beforeAll(async () => {
  app.services.jobs.send = async () => {};
  app.services.jobs.sendMany = async () => {};
});

const crawlersOf = (project: string) => `${acme}/projects/${project}/crawlers`;
const read = async (at: string): Promise<Answer['body']> => {
  const { status, body } = await app.ask('GET', at);
  expect(status).toBe(200);
  return body;
};

/** Without what a restored one has anew, or has not. */
function lasting({ id, uuid, project_id, headers, webhook_auth_header, last_run, ...rest }: Answer['body']) {
  return { ...rest, config: rest.config.replace(/headers: \{X-Key.*\}/, 'headers: {}') };
}
const lastingSchedule = ({
  id,
  crawler_config_id,
  crawler_uuid,
  project_id,
  crawler_last_run_id,
  ...rest
}: Answer['body']) => rest;

async function withCrawlers(project: string): Promise<void> {
  await app.run(createProject, { organization: 'acme', name: project, machine_name: project });
  const make = async (body: object) => (await app.ask('POST', crawlersOf(project), { body })).body;
  await make({ domain: 'plain.docs.test' });
  const gone = await make({ domain: 'gone.docs.test' });
  await app.ask('POST', `${crawlersOf(project)}/${gone.id}/schedules`, { body: { schedule_cron_string: '0 0 * * *' } });
  const { id } = await make({
    domain: 'https://full.docs.test',
    name: 'Full “Ünïcode”',
    workers: 9,
    delay: 0.5,
    max_html: 7,
    urls: ['/a'],
    include: ['^https://'],
    headers: { 'X-Key': 'sesame-of-headers' },
    webhook_url: 'https://hooks.docs.test/x',
    webhook_auth_header: 'Bearer sesame-of-hooks',
    webhook_extra_vars: 'a=1',
    sitemap: [{ url: '/sitemap.xml' }],
    publish: { auto: false },
  });
  for (const body of [
    { schedule_cron_string: '0 6 * * 1', timezone: 'Europe/Berlin', name: 'Mondays' },
    { schedule_cron_string: '*/5 * * * *', enabled: false },
  ])
    expect((await app.ask('POST', `${crawlersOf(project)}/${id}/schedules`, { body })).status).toBe(200);
  await app.ask('POST', `${crawlersOf(project)}/${id}/run`, { body: {} });
  expect((await app.ask('DELETE', `${crawlersOf(project)}/${gone.id}`)).status).toBe(204);
}

it('crawlers and their schedules come back without credentials, and go on', async () => {
  await withCrawlers('site-a');
  const { directory, copy } = await copyByBackup(app, 'site-a');
  const [before, after] = [await read(crawlersOf('site-a')), await read(crawlersOf(copy))];
  expect(after.map(lasting)).toEqual(before.map(lasting));
  expect(after.map(({ headers }: { headers: object }) => headers)).toEqual([{}, {}]);
  expect(after.some(({ uuid }: { uuid: string }) => before.some((one: { uuid: string }) => one.uuid === uuid))).toBe(
    false,
  );
  for (const at of [0, 1]) {
    const was = await read(`${crawlersOf('site-a')}/${before[at].id}/schedules`);
    const is = await read(`${crawlersOf(copy)}/${after[at].id}/schedules`);
    expect(is.map(lastingSchedule)).toEqual(was.map(lastingSchedule));
    for (const one of is) expect(one).toMatchObject({ crawler_config_id: after[at].id, crawler_last_run_id: 0 });
  }
  const full = `${crawlersOf(copy)}/${after[1].uuid}`;
  const secrets = [`${crawlersOf('site-a')}/${before[1].uuid}`, full].map(
    async (at) => (await app.ask('POST', `${at}/webhook/secret/reveal`)).body.secret,
  );
  const [theirs, ours] = await Promise.all(secrets);
  expect(ours).toMatch(/^whsec_/);
  expect(ours).not.toBe(theirs);
  expect((await app.ask('POST', `${full}/run`, { body: {} })).status).toBe(200);
  expect((await app.ask('PATCH', full, { body: { domain: 'https://full.docs.test', delay: 1 } })).body.delay).toBe(1);
  const held = await readFile(path.join(directory, 'rows/crawler.jsonl'), 'utf8');
  expect(held).not.toMatch(/sesame|whsec/);
});

it('a schedule that is on is due next as seen from when it is restored', async () => {
  app.clock.now = new Date('2026-03-01T08:00:00Z');
  await withCrawlers('site-b');
  const directory = await backUp(app, 'site-b');
  app.clock.now = new Date('2027-03-03T08:00:00Z');
  await restore(app, directory, 'site-b-copy');
  const rows = await app.services.orm.em.fork().execute(
    `select next_fire_at from crawler_schedule join crawler on crawler.id = crawler_id
     join project on project.id = project_id where machine_name = 'site-b-copy' order by crawler_schedule.id`,
  );
  expect(rows.map(({ next_fire_at }) => next_fire_at && new Date(next_fire_at).toISOString())).toEqual([
    '2027-03-08T05:00:00.000Z',
    null,
  ]);
  app.clock.now = null;
});

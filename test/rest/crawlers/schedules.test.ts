import { beforeAll, describe, expect, it } from 'vitest';
import { acme, shared, startTestApp } from '../../support/app.ts';

const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: 'docs.test,*.docs.test' }));
const crawlers = `${acme}/projects/site/crawlers`;
let uuid: string;
let id: number;
let schedules: string;

beforeAll(async () => {
  app.clock.now = new Date('2026-03-01T08:00:30.500Z');
  const { body } = await app.ask('POST', crawlers, { body: { domain: 'docs.test', name: 'Docs' } });
  ({ uuid, id } = body);
  schedules = `${crawlers}/${uuid}/schedules`;
});

const create = (body: object) => app.ask('POST', schedules, { body });
const hourly = { schedule_cron_string: '0 * * * *' };

describe('a schedule', () => {
  it('is made with the usual values', async () => {
    const { status, body } = await create({ schedule_cron_string: ' 30 2  * * 1-5 ' });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: body.id,
      name: 'Schedule Docs',
      crawler_config_id: id,
      crawler_uuid: uuid,
      project_id: expect.any(Number),
      crawler_last_run_id: 0,
      schedule_cron_string: '30 2  * * 1-5',
      timezone: 'UTC',
      enabled: true,
      description: 'At 02:30 on Monday to Friday',
      next_runs: ['02', '03', '04', '05', '06'].map((day) => `2026-03-${day}T02:30:00.000Z`),
      created_at: '2026-03-01T08:00:30.500Z',
      updated_at: '2026-03-01T08:00:30.500Z',
    });
    expect((await app.ask('GET', `${schedules}/${body.id}`)).body).toEqual(body);
    expect((await app.ask('GET', `${crawlers}/${id}/schedules`)).body).toContainEqual(body);
  });

  it('goes by its time zone, and rests while it is off', async () => {
    const { body } = await create({ ...hourly, schedule_cron_string: '30 2 * * *', timezone: 'America/New_York' });
    expect(body.next_runs.slice(0, 1)).toEqual(['2026-03-02T07:30:00.000Z']);
    const off = await app.ask('PATCH', `${schedules}/${body.id}`, {
      body: { schedule_cron_string: '30 2 * * *', enabled: false },
    });
    expect(off.body).toMatchObject({ enabled: false, timezone: 'America/New_York', next_runs: [] });
    const again = await app.ask('PATCH', `${schedules}/${body.id}`, {
      body: { schedule_cron_string: '30 2 * * *', enabled: null, timezone: null },
    });
    expect(again.body).toMatchObject({ enabled: true, timezone: 'UTC' });
    expect(again.body.next_runs[0]).toBe('2026-03-02T02:30:00.000Z');
  });

  it('gets the usual name back when it is edited without one', async () => {
    const { body } = await create({ ...hourly, name: ' Every hour ' });
    expect(body.name).toBe('Every hour');
    const at = `${schedules}/${body.id}`;
    expect((await app.ask('PATCH', at, { body: { ...hourly, name: 'Hourly' } })).body.name).toBe('Hourly');
    const { status, body: edited } = await app.ask('PATCH', at, { body: { schedule_cron_string: '5 * * * *' } });
    expect(status).toBe(200);
    expect(edited).toMatchObject({ name: 'Schedule Docs', schedule_cron_string: '5 * * * *' });
    expect(edited.next_runs[0]).toBe('2026-03-01T08:05:00.000Z');
  });

  it('is gone when it is deleted', async () => {
    const { body } = await create(hourly);
    expect((await app.ask('DELETE', `${schedules}/${body.id}`)).status).toBe(204);
    const { status, body: gone } = await app.ask('GET', `${schedules}/${body.id}`);
    expect([status, gone.message]).toEqual([404, 'Schedule not found']);
    expect((await app.ask('DELETE', `${schedules}/${body.id}`)).status).toBe(404);
  });

  it('names unknown fields', async () => {
    const { status, headers } = await create({ ...hourly, overlap: 'queue' });
    expect([status, headers.get('x-ignored-fields')]).toEqual([200, 'overlap']);
  });
});

describe('bad input', () => {
  it.each([
    [{}, 'schedule_cron_string: is required'],
    [{ schedule_cron_string: 5 }, 'schedule_cron_string: must be a string'],
    [{ schedule_cron_string: '' }, 'schedule_cron_string: must have exactly 5 fields, found 0'],
    [{ schedule_cron_string: '0 0 * * * *' }, 'schedule_cron_string: must have exactly 5 fields, found 6'],
    [{ schedule_cron_string: '* * * * 5L' }, 'schedule_cron_string: field day-of-week: unexpected "5L"'],
    [{ schedule_cron_string: '0 0 31 2 *' }, 'schedule_cron_string: never occurs'],
    [{ ...hourly, name: ' ' }, 'name: must be 1 to 255 characters'],
    [{ ...hourly, name: 'x'.repeat(256) }, 'name: must be 1 to 255 characters'],
    [{ ...hourly, name: 'a\u0000b' }, 'name: must be text without NUL'],
    [
      { ...hourly, timezone: 'Mars/Olympus' },
      'timezone: must be a time zone of the IANA database, such as Europe/Berlin',
    ],
    [{ ...hourly, enabled: 'yes' }, 'enabled: must be a boolean'],
    [{ name: '', timezone: 'x' }, 'schedule_cron_string: is required'],
  ])('%j', async (body, message) => {
    const made = await create(body);
    expect([made.status, made.body.message, made.body.error]).toEqual([400, message, true]);
    const one = (await app.ask('GET', schedules)).body[0];
    const edited = await app.ask('PATCH', `${schedules}/${one.id}`, { body });
    expect([edited.status, edited.body.message]).toEqual([400, message]);
    expect((await app.ask('GET', `${schedules}/${one.id}`)).body).toEqual(one);
  });

  it.each(['0', '-1', '1.5', 'abc', '99999999999', '2147483648', '999999'])('has no schedule %s', async (name) => {
    const { status, body } = await app.ask('GET', `${schedules}/${name}`);
    expect([status, body.message]).toEqual([404, 'Schedule not found']);
    const edited = await app.ask('PATCH', `${schedules}/${name}`, { body: { schedule_cron_string: '@daily' } });
    expect([edited.status, edited.body.message]).toEqual([404, 'Schedule not found']);
  });

  it('does not find the schedule of another crawler', async () => {
    const { body: other } = await app.ask('POST', crawlers, { body: { domain: 'b.docs.test' } });
    const one = (await app.ask('GET', schedules)).body[0];
    const at = `${crawlers}/${other.uuid}/schedules/${one.id}`;
    expect((await app.ask('GET', at)).status).toBe(404);
    expect((await app.ask('PATCH', at, { body: hourly })).status).toBe(404);
    expect((await app.ask('DELETE', at)).status).toBe(404);
    expect((await app.ask('GET', `${crawlers}/${other.uuid}/schedules`)).body).toEqual([]);
  });
});

it('shows when an expression would run', async () => {
  const preview = (query: string) => app.ask('GET', `${schedules}/preview?${query}`);
  const cron = encodeURIComponent('0 0 13 * 5');
  const { status, body } = await preview(`cron=${cron}&timezone=Asia/Kathmandu&count=2`);
  expect(status).toBe(200);
  expect(body).toEqual({
    description: 'At 00:00 on day 13 of the month or on Friday',
    next_runs: ['2026-03-05T18:15:00.000Z', '2026-03-12T18:15:00.000Z'],
  });
  expect((await preview(`cron=${cron}`)).body.next_runs).toHaveLength(5);
  expect((await preview(`cron=${cron}&count=50`)).body.next_runs).toHaveLength(50);
  for (const count of ['0', '51', '1.5'])
    expect((await preview(`cron=${cron}&count=${count}`)).body.message).toBe('count: must be an integer from 1 to 50');
  expect((await preview('cron=1')).body.message).toBe('cron: must have exactly 5 fields, found 1');
  expect((await preview('')).body.message).toBe('cron: is required');
});

it('lets a crawler have twenty schedules', async () => {
  const { body } = await app.ask('POST', crawlers, { body: { domain: 'full.docs.test' } });
  const at = `${crawlers}/${body.uuid}/schedules`;
  const answers = await Promise.all(Array.from({ length: 22 }, () => app.ask('POST', at, { body: hourly })));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
  const refused = answers.filter(({ status }) => status === 409);
  expect(refused.map(({ body: { code } }) => code)).toEqual(['limit_reached', 'limit_reached']);
  expect((await app.ask('GET', at)).body).toHaveLength(20);
});

it('asks for the permission of each row', async () => {
  const one = (await app.ask('GET', schedules)).body[0];
  const rows = [
    ['GET', schedules, 'browse_crawlers'],
    ['POST', schedules, 'edit_crawlers'],
    ['GET', `${schedules}/preview?cron=1`, 'browse_crawlers'],
    ['GET', `${schedules}/${one.id}`, 'browse_crawlers'],
    ['PATCH', `${schedules}/${one.id}`, 'edit_crawlers'],
    ['GET', `${schedules}/${one.id}/fires`, 'browse_crawlers'],
    ['DELETE', `${schedules}/${one.id}`, 'delete_crawlers'],
  ] as const;
  for (const [method, at, permission] of rows) {
    const others = (['browse_crawlers', 'edit_crawlers', 'delete_crawlers', 'manage_crawlers'] as const).filter(
      (name) => name !== permission,
    );
    const { status, body } = await app.ask(method, at, { token: await app.makeToken(others) });
    expect([at, status, body.message]).toEqual([at, 403, expect.stringContaining(permission)]);
  }
});

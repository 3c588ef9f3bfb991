import { beforeAll, expect, it } from 'vitest';
import { createCrawler } from '../../src/domain/crawlers/config/crawlers.operations.ts';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);
const ids: string[] = [];
const place = 'organization: "acme", project: "site"';

beforeAll(async () => {
  app.services.jobs.send = async () => {};
  app.services.jobs.sendMany = async () => {};
  for (const name of ['a', 'b', 'c']) {
    const made = (await app.run(createCrawler, {
      organization: 'acme',
      project: 'site',
      domain: `${name}.example.com`,
      webhook_url: 'https://hooks.example.com/',
    })) as { uuid: string };
    ids.push(made.uuid);
  }
});

const data = (document: string) => app.data(document);
const crawler = (fields: string, at = 0) => `{ project(${place}) { crawler(crawler: "${ids[at]}") { ${fields} } } }`;

it('gives crawlers schedules, and loads those of all in one batch', async () => {
  for (const id of ids) {
    const input = `{crawler: "${id}", schedule_cron_string: "0 0 13 * 5"}`;
    const { createSchedule } = await data(
      `mutation { createSchedule(${place}, input: ${input}) { id crawler_uuid description next_runs } }`,
    );
    expect(createSchedule).toMatchObject({
      crawler_uuid: id,
      description: 'At 00:00 on day 13 of the month or on Friday',
    });
    expect(createSchedule.next_runs).toHaveLength(5);
  }
  app.reset();
  const { project } = await data(
    `{ project(${place}) { crawlers { nodes { schedules { total_count nodes { name crawler_last_run_id fires { total_count } } } } } } }`,
  );
  const expected = ['a', 'b', 'c'].map((name) => ({
    schedules: {
      total_count: 1,
      nodes: [{ name: `Schedule ${name}.example.com`, crawler_last_run_id: 0, fires: { total_count: 0 } }],
    },
  }));
  expect(project.crawlers.nodes).toEqual(expected);
  expect(app.operations.filter((name) => name === 'crawlers.listSchedulesOf')).toHaveLength(1);
});

interface Linked {
  crawler: { uuid: string };
  last_run: { id: number } | null;
}

it('names runs that are there, and looks for those of all in one statement', async () => {
  const em = app.services.orm.em.fork();
  const lists = `{ project(${place}) { crawlers { nodes { schedules { nodes { id crawler_last_run_id } } } } } }`;
  const look = async (): Promise<{ id: number; crawler_last_run_id: number }[]> =>
    (await data(lists)).project.crawlers.nodes.flatMap(
      ({ schedules }: { schedules: { nodes: [] } }) => schedules.nodes,
    );
  const [first, ...others] = await look();
  const run = async (at: number) => {
    const { runCrawler } = await data(`mutation { runCrawler(${place}, input: {crawler: "${ids[at]}"}) { run_id } }`);
    return Number(runCrawler.run_id);
  };
  const setRun = (id: number | undefined, run_id: number | null) =>
    em.execute('update crawler_schedule set last_run_id = ? where id = ?', [run_id, id]);
  await setRun(first?.id, await run(0));
  const { statements } = await app.leastOf(look);
  const made = [await run(1), await run(2)];
  for (const [at, { id }] of others.entries()) await setRun(id, made[at] ?? null);
  expect((await look()).slice(1).map(({ crawler_last_run_id }) => crawler_last_run_id)).toEqual(made);
  expect((await app.leastOf(look)).statements).toHaveLength(statements.length);
  const linked = `{ project(${place}) { crawlers(first: 3) { nodes { uuid schedules(first: 3) { nodes { crawler { uuid } last_run { id } } } } } } }`;
  const follow = async () => {
    const all = (await data(linked)).project.crawlers.nodes.slice(1);
    return all.flatMap(({ uuid, schedules }: { uuid: string; schedules: { nodes: Linked[] } }) =>
      schedules.nodes.map(({ crawler, last_run }) => [crawler.uuid === uuid, last_run?.id ?? null]),
    );
  };
  expect(await follow()).toEqual(made.map((id) => [true, id]));
  await em.execute('delete from crawler_run where id = ?', [made[0]]);
  expect(await follow()).toEqual([
    [true, null],
    [true, made[1]],
  ]);
  expect((await look()).slice(1).map(({ crawler_last_run_id }) => crawler_last_run_id)).toEqual([0, made[1]]);
});

it('changes and removes one, and shows when one would run', async () => {
  const read = async () =>
    (await data(crawler('schedules { nodes { id name timezone } }'))).project.crawler.schedules.nodes;
  const [{ id }] = await read();
  const change = `{crawler: "${ids[0]}", crawler_schedule: ${id}, schedule_cron_string: "0 1 * * *", timezone: "Asia/Kathmandu", name: "N"}`;
  await data(`mutation { updateSchedule(${place}, input: ${change}) { id } }`);
  expect(await read()).toEqual([{ id, name: 'N', timezone: 'Asia/Kathmandu' }]);
  const one = (
    await data(
      crawler(
        `schedule(id: ${id}) { schedule_cron_string } schedule_preview(cron: "0 1 * * *", count: 2) { next_runs }`,
      ),
    )
  ).project.crawler;
  expect(one.schedule).toEqual({ schedule_cron_string: '0 1 * * *' });
  expect(one.schedule_preview.next_runs).toHaveLength(2);
  await data(
    `mutation { deleteSchedule(${place}, input: {crawler: "${ids[0]}", crawler_schedule: ${id}}) { schedule { id } } }`,
  );
  expect(await read()).toEqual([]);
});

it('sends tests, lists deliveries, and shows and replaces the secret', async () => {
  const at = `crawler: "${ids[1]}"`;
  const { testWebhook } = await data(`mutation { testWebhook(${place}, input: {${at}}) { id type status } }`);
  expect(testWebhook).toMatchObject({ type: 'crawler.test', status: 'pending' });
  const { id } = testWebhook;
  const found = (
    await data(
      crawler(
        `deliveries(status: pending) { nodes { id payload } } delivery(id: ${id}) { event_id attempts { at } }`,
        1,
      ),
    )
  ).project.crawler;
  expect(found.deliveries.nodes).toMatchObject([{ id, payload: { type: 'crawler.test' } }]);
  expect(found.delivery).toMatchObject({ event_id: expect.stringMatching(/^msg_/), attempts: [] });
  const again = await data(`mutation { resendDelivery(${place}, input: {${at}, delivery: ${id}}) { status } }`);
  expect(again.resendDelivery).toEqual({ status: 'pending' });
  const secret = async (verb: string) =>
    (await data(`mutation { ${verb}(${place}, input: {${at}}) { secret } }`))[verb].secret;
  const shown = await secret('revealWebhookSecret');
  const replaced = await secret('rotateWebhookSecret');
  expect(replaced).not.toBe(shown);
  expect(await secret('revealWebhookSecret')).toBe(replaced);
});

it('refuses in the words of REST', async () => {
  const input = `{crawler: "${ids[0]}", schedule_cron_string: "* * * * 5L"}`;
  const { body } = await app.query(`mutation { createSchedule(${place}, input: ${input}) { id } }`);
  expect(body.errors[0].message).toBe('schedule_cron_string: field day-of-week: unexpected "5L"');
});

import { beforeEach, expect, it } from 'vitest';
import { dispatchSchedules } from '../../../../src/domain/schedules/dispatch.ts';
import { workflowScheduleSource } from '../../../../src/domain/workflows/triggers/workflow-schedule-source.ts';
import { createUpkeep } from '../../../../src/jobs/upkeep.ts';
import { shared } from '../../../support/app.ts';
import { startWebhookApp, workflowsPath } from '../../../support/webhook.ts';

const app = shared(startWebhookApp);
let workflow: string;
let trigger: string;

const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: "1"}\n';
const at = (time: string) => {
  app.clock.now = new Date(`2026-03-01T${time}:00Z`);
};
const rows = async (sql: string, params: unknown[] = []): Promise<Record<string, unknown>[]> =>
  app.services.orm.em.fork().execute(sql, params);
const executions = () => rows('select * from execution where workflow_id = ? order by created_at', [workflow]);
const dispatch = () => dispatchSchedules(app.services, workflowScheduleSource);

beforeEach(async () => {
  at('08:00');
  workflow = (await app.ask('POST', workflowsPath, { body: { name: 'Timed', definition } })).body.id;
  const body = { type: 'cron', schedule_cron_string: '*/5 * * * *' };
  trigger = (await app.ask('POST', `${workflowsPath}/${workflow}/triggers`, { body })).body.id;
});

it('a fire begins one execution, however many look at once', async () => {
  at('08:05');
  await Promise.all([dispatch(), dispatch(), dispatch()]);
  const input = { scheduled_for: '2026-03-01T08:05:00.000Z', trigger: { id: trigger, type: 'cron' } };
  expect(await executions()).toEqual([
    expect.objectContaining({ status: 'pending', trigger_type: 'cron', trigger_id: trigger, input }),
  ]);
  await dispatch();
  expect(await executions()).toHaveLength(1);
  at('08:10');
  await dispatch();
  expect(await executions()).toHaveLength(2);
});

it('nothing fires while trigger or workflow are off, or once they are gone', async () => {
  const path = `${workflowsPath}/${workflow}`;
  await app.ask('PATCH', `${path}/triggers/${trigger}`, { body: { enabled: false } });
  at('08:05');
  await dispatch();
  await app.ask('PATCH', `${path}/triggers/${trigger}`, { body: { enabled: true } });
  await app.ask('POST', `${path}/disable`);
  at('08:10');
  await dispatch();
  await app.ask('POST', `${path}/enable`);
  await app.ask('DELETE', `${path}/triggers/${trigger}`);
  at('08:15');
  await dispatch();
  expect(await executions()).toEqual([]);
});

it('a time that passed too long ago is missed', async () => {
  app.clock.now = new Date('2026-03-02T08:03:00Z');
  await rows('update workflow_trigger set schedule_cron_string = ? where id = ?', ['0 6 * * *', trigger]);
  await dispatch();
  expect(await executions()).toEqual([]);
  const [fire] = await rows('select outcome from schedule_fire where source_id = ?', [trigger]);
  expect(fire).toMatchObject({ outcome: 'missed' });
});

it('goes on in the minute in which the clock is put right that was an hour ahead', async () => {
  // Before what is done at night.
  at('00:04');
  await rows('update workflow_trigger set next_fire_at = ? where id = ?', ['2026-03-01T00:05:00Z', trigger]);
  await rows(`delete from setting where name = 'upkeep clock'`);
  const upkeep = createUpkeep(app.services, 365);
  const beat = async (time: string) => {
    at(time);
    await dispatch();
    await upkeep.beat(1);
    return (await executions()).length;
  };
  const counts: number[] = [];
  for (const time of ['00:05', '01:10', '00:15', '00:20', '01:05', '01:10', '01:15']) counts.push(await beat(time));
  await upkeep.end();
  expect(counts).toEqual([1, 2, 3, 4, 5, 5, 6]);
});

import type { EntityManager } from '@mikro-orm/postgresql';
import { describe, expect, it } from 'vitest';
import { dispatchSchedules } from '../../../src/domain/schedules/dispatch.ts';
import { Execution } from '../../../src/domain/workflows/executions/execution.entity.ts';
import { pruneExecutions } from '../../../src/domain/workflows/executions/prune-executions.ts';
import { retryExecutions } from '../../../src/domain/workflows/executions/retry-execution.ts';
import { workflowScheduleSource } from '../../../src/domain/workflows/triggers/workflow-schedule-source.ts';
import { noteOldSecrets } from '../../../src/domain/workflows/webhook/secret-retention.ts';
import { Workflow } from '../../../src/domain/workflows/workflow.entity.ts';
import { shared } from '../../support/app.ts';
import { overtake } from '../../support/overtake.ts';
import { call, newWebhook, startWebhookApp, workflowsPath } from '../../support/webhook.ts';

const app = shared(startWebhookApp);
const hook = shared(() => newWebhook(app));

const em = () => app.services.orm.em.fork();

it('the use of a secret that was noted late is not taken for that of the next one', async () => {
  const rotate = async () => {
    const body = { grace_period_seconds: 3_600 };
    expect((await app.ask('POST', `${workflowsPath}${hook.path}/rotate`, { body })).status).toBe(200);
  };
  const lastUse = async () => {
    const sql = 'select previous_secret_last_used_at as at from workflow_trigger where id = ?';
    return (await em().execute<{ at: string | null }[]>(sql, [hook.trigger]))[0]?.at;
  };
  const note = async (version: number) => {
    let writing: unknown;
    const fork = () => ({
      execute(...args: Parameters<EntityManager['execute']>) {
        writing = em().execute(...args);
        return writing;
      },
    });
    noteOldSecrets({ ...app.services, orm: { em: { fork } } as never }, hook.trigger, version);
    await writing;
  };
  await rotate();
  await note(1);
  expect(await lastUse()).not.toBeNull();
  await rotate();
  await note(1);
  expect(await lastUse()).toBeNull();
  await note(2);
  expect(await lastUse()).not.toBeNull();
});

it('what started an execution is kept when that is tried again while old bodies are removed', async () => {
  const headers = { authorization: `Bearer ${hook.secret}` };
  const current = (await app.ask('POST', `${workflowsPath}${hook.path}/reveal`, { body: {} })).body.secret;
  headers.authorization = `Bearer ${current}`;
  const id = (await call(app.url, hook.endpoint, { headers, body: '{}' })).body.executionId as string;
  await em().execute(`update execution set status = 'failed', finished_at = now() where id = ?`, [id]);
  app.clock.now = new Date(Date.now() + 8 * 24 * 3_600_000);
  const request = { from: 'start', version: 'same' } as const;
  const retry = async (within: EntityManager) => {
    const row = await within.findOneOrFail(Execution, { id });
    const workflow = await within.findOneOrFail(Workflow, { id: hook.workflow });
    const context = { em: within, services: app.services, actor: { id: 'test' } } as never;
    const [again] = await retryExecutions(context, [{ row, workflow }], request);
    expect(again).toEqual(expect.any(String));
  };
  await overtake(app, retry, () => pruneExecutions(app.services, new AbortController().signal));
  const [delivery] = await em().execute<{ has_body: boolean }[]>(
    `select body is not null as has_body from delivery
     where id = (select delivery_id from execution where id = ?)`,
    [id],
  );
  expect(delivery).toEqual({ has_body: true });
  app.clock.now = null;
});

describe('a workflow that is deleted at that moment', () => {
  const remove = (workflow: string) => (within: EntityManager) =>
    within.execute('update workflow set deleted_at = now() where id = ?', [workflow]);
  const executionsOf = (workflow_id: string) => em().count(Execution, { workflow_id });

  it('is not begun by hand', async () => {
    const { workflow } = await newWebhook(app);
    const begin = () => app.ask('POST', `${workflowsPath}/${workflow}/executions`, { body: {} });
    expect(await overtake(app, remove(workflow), begin)).toMatchObject({ status: 404 });
    expect(await executionsOf(workflow)).toBe(0);
  });

  it('is not begun by its times', async () => {
    const { workflow } = await newWebhook(app);
    const body = { type: 'cron', schedule_cron_string: '* * * * *' };
    const trigger = await app.ask('POST', `${workflowsPath}/${workflow}/triggers`, { body });
    app.clock.now = new Date(trigger.body.next_fires[0]);
    const signal = new AbortController().signal;
    await overtake(app, remove(workflow), () => dispatchSchedules(app.services, workflowScheduleSource, signal));
    expect(await executionsOf(workflow)).toBe(0);
    app.clock.now = null;
  });
});

import { describe, expect, it } from 'vitest';
import { recordAudit } from '../../../src/domain/audit/audit.ts';
import { createToken } from '../../../src/domain/identity/tokens.operations.ts';
import { createProject, deleteProject } from '../../../src/domain/projects/projects.operations.ts';
import { systemActor } from '../../../src/kernel/actor.ts';
import { run } from '../../../src/kernel/run.ts';
import { systemCall } from '../../../src/server/first-run.ts';
import { shared, startTestApp } from '../../support/app.ts';

const app = shared(startTestApp);

const sql = (text: string, values: unknown[] = []) =>
  app.services.orm.em.fork().execute(text, values) as Promise<Record<string, unknown>[]>;
const newest = async () => (await sql('select * from audit order by id desc limit 1'))[0];
const call = () => systemCall(app.services, systemActor('test', [], 'portico.test'));

describe('the audit log', () => {
  it('has one row for a command that worked, in its transaction', async () => {
    await app.run(createProject, { organization: 'acme', name: 'Audited' });
    expect(await newest()).toMatchObject({
      action: 'projects.createProject',
      outcome: 'ok',
      subject_type: 'project',
      subject_id: 'audited',
      actor: 'system:test',
    });
  });

  it('has one for a command that was denied', async () => {
    const before = (await sql('select id from audit')).length;
    await expect(run(createProject, call(), { organization: 'acme', name: 'No' })).rejects.toMatchObject({
      code: 'forbidden',
    });
    expect(await newest()).toMatchObject({ action: 'projects.createProject', outcome: 'denied' });
    expect(await sql('select id from audit')).toHaveLength(before + 1);
  });

  it('has one for a command that failed, and nothing else of it', async () => {
    const projects = await sql('select id from project');
    await expect(app.run(createProject, { organization: 'acme', name: 'Audited' })).rejects.toMatchObject({
      code: 'already_exists',
    });
    expect(await newest()).toMatchObject({ action: 'projects.createProject', outcome: 'failed', subject_id: null });
    expect(await sql('select id from project')).toEqual(projects);
    await expect(app.run(deleteProject, { organization: 'acme', project: 'none' })).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(await newest()).toMatchObject({ action: 'projects.deleteProject', outcome: 'failed' });
  });

  it('has ids in the order of time', async () => {
    const rows = await sql('select id, at from audit order by id');
    const times = rows.map(({ at }) => Number(at));
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  it('keeps field names, and values only of those that are short, plain and no secret', async () => {
    const input = {
      name: 'Plain',
      count: 3,
      flag: true,
      password: 'hunter2',
      client_secret: 'hunter2',
      api_token: 'hunter2',
      Authorization: 'hunter2',
      headers: 'hunter2',
      url: 'https://user:hunter2@example.org/x',
      long: 'hunter2'.repeat(100),
      nested: { deep: 'hunter2' },
      list: ['hunter2'],
      nul: 'a\u0000b',
      half: '\ud800',
    };
    const em = app.services.orm.em.fork();
    const entry = {
      at: new Date(),
      address: null,
      request_id: 'r',
      action: 'test.act',
      actor: 'anonymous',
      organization_id: null,
      project_id: null,
      input,
    } as const;
    await recordAudit(em, { ...entry, subject: { type: 'x', id: 'a\u0000b' }, outcome: 'ok' });
    const row = await newest();
    expect(JSON.stringify(row)).not.toContain('hunter2');
    expect(row).toMatchObject({ actor: 'anonymous', subject_id: 'ab' });
    expect(row?.changes).toMatchObject({
      name: 'Plain',
      count: 3,
      flag: true,
      password: null,
      url: 'https://example.org/x',
      nested: null,
      nul: 'ab',
    });
    expect(Object.keys(row?.changes as object)).toEqual(Object.keys(input));
  });

  it('never holds the text of a token', async () => {
    const { token } = (await app.run(createToken, { organization: 'acme', name: 'T', preset: 'readonly' })) as {
      token: string;
    };
    expect(JSON.stringify(await sql('select * from audit'))).not.toContain(token);
  });

  it.each([
    "update audit set outcome = 'ok'",
    "update audit set actor = 'nobody' where id = (select max(id::text)::uuid from audit)",
    'delete from audit',
    'delete from audit where id = (select max(id::text)::uuid from audit)',
  ])('refuses "%s"', async (statement) => {
    const before = await sql('select * from audit order by id');
    await expect(sql(statement)).rejects.toThrow(/append-only/);
    expect(await sql('select * from audit order by id')).toEqual(before);
  });
});

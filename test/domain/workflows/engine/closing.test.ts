import { expect, it } from 'vitest';
import { startExecutingApp } from '../../../support/workflows/executing.ts';

it('a process that stops hands back what it is just taking, too', async () => {
  const app = await startExecutingApp();
  try {
    const workflow = await app.save({
      portico: 'workflow/1',
      steps: [{ id: 'a', type: 'transform', expression: '1' }],
    });
    const ids = [await app.begin(workflow), await app.begin(workflow)];
    app.jobs.splice(0);
    const { orm, workflows } = app.services;
    const { engine } = workflows;
    const taken = engine.advance(ids);
    await engine.close();
    const sql = 'select driver_id, crashes, status from execution order by id';
    const rows = await orm.em.fork().execute<{ driver_id: string | null; status: string }[]>(sql);
    expect(rows.map(({ driver_id }) => driver_id)).toEqual([null, null]);
    // The next driver finds them: they are at their end, or their jobs are sent.
    const open = rows.filter(({ status }) => status !== 'completed').length;
    expect(new Set(app.jobs).size).toBe(open);
    await taken;
    await expect(engine.advance(ids)).rejects.toThrow('stops');
  } finally {
    await app.stop();
  }
});

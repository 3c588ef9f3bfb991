import { expect, it } from 'vitest';
import { holdProject } from '../../../src/domain/projects/project-ref.ts';
import { shared, startTestApp } from '../../support/app.ts';

const app = shared(startTestApp);

/** The other side's statement, which gives up where it would wait for the first. */
const beside = (text: string, id: number) =>
  app.services.orm.em.fork().transactional(async (em) => {
    await em.execute("set local lock_timeout = '200ms'");
    await em.execute(text, [id]);
  });

it('blocks other holders of a project, and no writes of rows that refer to it', async () => {
  const { em } = app.services.orm;
  const [{ id }] = (await em.fork().execute("select id from project where machine_name = 'site'")) as [{ id: number }];
  await em.fork().transactional(async (held) => {
    expect((await holdProject(held, id)).machine_name).toBe('site');
    // A writer that waited for the project would keep its own rows locked, which the holder may wait for: a deadlock.
    await beside('select 1 from project where id = ? for key share', id);
    await expect(beside('select 1 from project where id = ? for no key update', id)).rejects.toThrow(/lock timeout/);
    await expect(beside('update project set name = name where id = ?', id)).rejects.toThrow(/lock timeout/);
  });
});

import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { DomainError } from '../../errors.ts';
import type { Services } from '../../services.ts';

/** A process that gives no sign of life for this long has lost its lease; milliseconds. */
const holdTime = 10_000;
const renewEvery = 3_000;
/** How often a lease that another process has is asked for again, and for how long: longer than a dead one has it. */
const askEvery = 200;
const patience = 15_000;

/**
 * Makes this the only process that works with a project's upstream while `work` lasts. It keeps two from doing the same twice; that nothing is
 * lost rests on compare-and-swap, not on this.
 * @throws DomainError `busy` when another process does not finish, `not_found` when there is no upstream (any more)
 */
export async function withLease<T>(
  { orm }: Pick<Services, 'orm'>,
  projectId: number,
  work: () => Promise<T>,
): Promise<T> {
  const id = randomUUID();
  const execute = (sql: string, values: unknown[]) =>
    orm.em.fork().execute<{ affectedRows?: number }>(sql, values, 'run');
  const extend = (condition: string) =>
    execute(
      `update upstream set lease_id = ?, lease_until = now() + interval '${holdTime} milliseconds'
       where project_id = ? and (lease_id = ? or ${condition})`,
      [id, projectId, id],
    );
  for (const until = performance.now() + patience; ; ) {
    const { affectedRows } = await extend('lease_until is null or lease_until < now()');
    if (affectedRows) break;
    const [row] = await orm.em.fork().execute('select 1 from upstream where project_id = ?', [projectId]);
    if (!row) throw new DomainError('not_found', 'This project has no upstream');
    if (performance.now() > until)
      throw new DomainError('busy', 'Another process is working with the upstream; try again');
    await setTimeout(askEvery);
  }
  const renewal = setInterval(() => extend('false').catch(() => {}), renewEvery);
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    await execute('update upstream set lease_id = null, lease_until = null where project_id = ? and lease_id = ?', [
      projectId,
      id,
    ]).catch(() => {});
  }
}

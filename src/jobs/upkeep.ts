import cron from 'node-cron';
import { AuditRow } from '../domain/audit/audit.entity.ts';
import { IdempotencyKey } from '../domain/idempotency.entity.ts';
import { Token } from '../domain/identity/token.entity.ts';
import { Project } from '../domain/projects/project.entity.ts';
import type { Services } from '../domain/services.ts';

const day = 24 * 3600_000;
const deletedProjectDays = 30;
const endedTokenDays = 90;

/** Removes what has been kept long enough: deleted projects with their repositories, ended tokens, old audit rows, used keys. */
export async function runUpkeep(services: Services, auditDays: number): Promise<void> {
  const now = services.clock.now().getTime();
  const before = (days: number) => new Date(now - days * day);
  const em = services.orm.em.fork();
  const ended = await em.find(Project, { deleted_at: { $lt: before(deletedProjectDays) } });
  for (const { id, uuid } of ended) {
    await em.nativeDelete(Project, { id });
    await services.git.remove(uuid);
  }
  const old = before(endedTokenDays);
  await em.nativeDelete(Token, { $or: [{ revoked_at: { $lt: old } }, { expires_at: { $lt: old } }] });
  await em.nativeDelete(IdempotencyKey, { created_at: { $lt: before(1) } });
  await em.transactional(async (within) => {
    await within.execute("set local portico.audit_retention = 'on'");
    await within.nativeDelete(AuditRow, { at: { $lt: before(auditDays) } });
  });
}

/** Begins the nightly upkeep; of several processes on one database, one does it. @returns how to end it. */
export function scheduleUpkeep(services: Services, auditDays: number): () => Promise<void> {
  const task = cron.schedule(
    '17 3 * * *',
    async () => {
      const lock = "select pg_try_advisory_xact_lock(hashtext('portico_upkeep')) as mine";
      await services.orm.em.fork().transactional(async (em) => {
        const [{ mine }] = (await em.execute(lock)) as [{ mine: boolean }];
        if (mine) await runUpkeep(services, auditDays);
      });
    },
    { timezone: 'UTC', name: 'upkeep' },
  );
  task.on('execution:failed', ({ execution }) => services.log.error({ err: execution?.error }, 'upkeep failed'));
  return async () => {
    await task.destroy();
  };
}

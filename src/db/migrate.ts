import type { MikroORM } from '@mikro-orm/postgresql';
import { migrations } from './migrations/index.ts';

const migrationLock = 0x706f7274;

/** Brings the database to the newest schema; of several processes that start at once, one does it and the others wait. */
export async function migrate(orm: MikroORM): Promise<void> {
  if (await isCurrent(orm)) return;
  await orm.em.fork().transactional(async (em) => {
    await em.execute(`select pg_advisory_xact_lock(${migrationLock})`);
    if (!(await isCurrent(orm))) await orm.migrator.up();
  });
}

/** Whether every migration has run: one cheap query, so that a later start costs no migrator. */
export async function isCurrent(orm: MikroORM): Promise<boolean> {
  const em = orm.em.fork();
  const [{ exists }] = (await em.execute("select to_regclass('migration') is not null as exists")) as [
    { exists: boolean },
  ];
  if (!exists) return false;
  const rows = (await em.execute('select name from migration')) as { name: string }[];
  const done = new Set(rows.map((row) => row.name));
  return migrations.every(({ name }) => done.has(name));
}

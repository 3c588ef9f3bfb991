import pg from 'pg';
import { expect, test } from 'vitest';
import { createDatabase, empty } from '../../support/postgres.ts';

test('each test database is its own, and a template is copied', async () => {
  const first = await createDatabase(empty);
  const client = new pg.Client({ connectionString: first.url });
  await client.connect();
  await client.query(`CREATE TABLE note (body text); INSERT INTO note VALUES ('zażółć')`);
  await client.end();

  const copy = await createDatabase(new URL(first.url).pathname.slice(1));
  const other = await createDatabase(empty);
  const pool = new pg.Pool({ connectionString: copy.url });
  expect((await pool.query('SELECT body FROM note')).rows).toEqual([{ body: 'zażółć' }]);
  await pool.end();

  const otherPool = new pg.Pool({ connectionString: other.url });
  await expect(otherPool.query('SELECT body FROM note')).rejects.toThrow(/does not exist/);
  await otherPool.end();
  await Promise.all([first.drop(), copy.drop(), other.drop()]);
});

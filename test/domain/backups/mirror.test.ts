import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { acme, shared, startTestApp } from '../../support/app.ts';
import { backUp, restore } from '../../support/backups.ts';
import { seedPosts } from '../../support/conflict-site.ts';

const app = shared(startTestApp);

it('a mirror is one again without its credentials, and says so', async () => {
  const head = await seedPosts(app);
  const em = app.services.orm.em.fork();
  const [{ id }] = (await em.execute('select id from project')) as [{ id: number }];
  // As it is stored: no other host is contacted here.
  await em.execute(
    `insert into upstream (project_id, url, auth_kind, credentials, hook_secret, version, push, created_at, updated_at)
      values (?, 'https://git.example.org/a.git', 'token', 'sealed-credentials', 'sealed-hook', 3, 'manual', now(), now())`,
    [id],
  );
  await em.execute('insert into upstream_branch (project_id, name, synced_sha) values (?, ?, ?)', [id, 'main', head]);
  const directory = await backUp(app, 'site');
  const files = await readdir(path.join(directory, 'rows'));
  for (const name of files) expect(await readFile(path.join(directory, 'rows', name), 'utf8')).not.toContain('sealed');
  await restore(app, directory, 'copy');
  const [row] = await em.execute('select * from upstream where project_id <> ?', [id]);
  expect(row).toMatchObject({
    url: 'https://git.example.org/a.git',
    auth_kind: 'token',
    credentials: null,
    push: 'manual',
    version: 1,
    fetch_error: 'Backups hold no credentials: set the remote again',
  });
  expect(row?.hook_secret).not.toContain('sealed-hook');
  const branches = await em.execute('select name, synced_sha from upstream_branch where project_id <> ?', [id]);
  expect(branches).toEqual([{ name: 'main', synced_sha: head }]);
  expect((await app.ask('DELETE', `${acme}/projects/copy/studio/repository/remote`)).status).toBe(204);
});

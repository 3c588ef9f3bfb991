import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { backupProject } from '../../../src/domain/backups/backup-project.operations.ts';
import { checkProject } from '../../../src/domain/backups/check-project.operations.ts';
import { restoreBackup } from '../../../src/domain/backups/restore-backup.operations.ts';
import { createProject } from '../../../src/domain/projects/projects.operations.ts';
import { permissionNames, systemActor } from '../../../src/kernel/actor.ts';
import { run } from '../../../src/kernel/run.ts';
import type { GitStore } from '../../../src/ports/git.ts';
import { systemCall } from '../../../src/server/first-run.ts';
import { acme, shared, startTestApp } from '../../support/app.ts';
import { commitTo, post, postPath, seedPosts } from '../../support/conflict-site.ts';
import { temporaryDirectory } from '../../support/git-store.ts';

const app = shared(startTestApp);

const studioOf = (project: string) => `${acme}/projects/${project}/studio`;

async function fresh(project: string): Promise<void> {
  await app.run(createProject, { organization: 'acme', name: project, machine_name: project });
  await seedPosts(app, project);
}

/** Opens a pull request that adds one post, from a branch of its own. */
async function propose(project: string, name: string): Promise<number> {
  await app.ask('POST', `${studioOf(project)}/branches`, { body: { name } });
  await commitTo(app, name, { [postPath(name)]: post({ title: name }) }, project);
  const { body } = await app.ask('POST', `${studioOf(project)}/pulls`, { body: { title: name, head: name } });
  return body.number;
}

const merge = (project: string, number: number) =>
  app.ask('POST', `${studioOf(project)}/pulls/${number}/merge`, { body: { delete_branch: true } });

/** What must hold of any backup: whole, every pull request as it was at one moment, with all it was about. */
async function expectConsistent(project: string): Promise<void> {
  expect(await app.run(checkProject, { organization: 'acme', project })).toEqual({ problems: [] });
  const git = await app.repository(project);
  const ask = async (place: string) => (await app.ask('GET', `${studioOf(project)}/${place}`)).body;
  const branches = new Set((await git.branches()).map(({ name }) => name));
  for (const { number, head } of await ask('pulls?state=open')) {
    expect([number, branches.has(`refs/heads/${head.ref}`)]).toEqual([number, true]);
    expect([number, await git.isAncestor(head.sha, (await git.head('main')) ?? '')]).toEqual([number, false]);
  }
  const main = await git.head('main');
  for (const { number, merge_commit_sha } of await ask('pulls?state=merged'))
    expect([number, await git.isAncestor(merge_commit_sha, main ?? '')]).toEqual([number, true]);
}

it('backups taken while editors commit, propose and merge are each of one moment', async () => {
  await fresh('busy');
  let stop = false;
  let merged = 0;
  const editor = async (who: number) => {
    for (let at = 0; !stop; at += 1) {
      const number = await propose('busy', `e${who}-${at}`);
      if (at % 3 === 2) continue;
      // Refused where the other editor moved the base at that moment: the pull request stays open then.
      if ((await merge('busy', number)).status === 200) merged += 1;
    }
  };
  const editing = Promise.all([editor(1), editor(2)]);
  const directory = temporaryDirectory();
  const acknowledged: number[] = [];
  try {
    for (let at = 0; at < 4; at += 1) {
      await vi.waitUntil(() => merged > at * 2, { timeout: 60_000 });
      acknowledged.push((await app.ask('GET', `${studioOf('busy')}/pulls?state=merged&per_page=100`)).body.length);
      await app.run(backupProject, { organization: 'acme', project: 'busy', directory: path.join(directory, `${at}`) });
    }
  } finally {
    stop = true;
    await editing;
  }
  for (const [at, least] of acknowledged.entries()) {
    const copy = `copy-${at}`;
    await app.run(restoreBackup, {
      organization: 'acme',
      directory: path.join(directory, `${at}`),
      restored_project: copy,
    });
    await expectConsistent(copy);
    const { body } = await app.ask('GET', `${studioOf(copy)}/pulls?state=merged&per_page=100`);
    expect(body.length).toBeGreaterThanOrEqual(least);
  }
});

/** The store, with something that happens right before a repository is backed up. */
function storeWith(git: GitStore, before: () => Promise<unknown>): GitStore {
  return new Proxy(git, {
    get(store, name) {
      const value = Reflect.get(store, name, store) as unknown;
      if (typeof value !== 'function') return value;
      if (name !== 'backup') return value.bind(store);
      return async (...args: unknown[]) => {
        await before();
        return value.apply(store, args);
      };
    },
  });
}

it('a pull request merged after the rows were read and before the refs is merged in the backup, with its branch or without', async () => {
  await fresh('moving');
  const [first, second, third] = [
    await propose('moving', 'one'),
    await propose('moving', 'two'),
    await propose('moving', 'three'),
  ];
  const git = storeWith(app.services.git, async () => {
    expect((await merge('moving', second)).status).toBe(200);
    const kept = await app.ask('POST', `${studioOf('moving')}/pulls/${third}/merge`, { body: {} });
    expect(kept.status).toBe(200);
  });
  const admin = systemActor('test', permissionNames, 'portico.test', true);
  const directory = path.join(temporaryDirectory(), 'backup');
  const call = systemCall({ ...app.services, git }, admin);
  await run(backupProject, call, { organization: 'acme', project: 'moving', directory });
  await app.run(restoreBackup, { organization: 'acme', directory, restored_project: 'moved' });
  const { body } = await app.ask('GET', `${studioOf('moved')}/pulls?state=merged`);
  const numbers = (rows: { number: number }[]) => rows.map(({ number }) => number).sort();
  expect(numbers(body)).toEqual([second, third]);
  expect(numbers((await app.ask('GET', `${studioOf('moved')}/pulls?state=open`)).body)).toEqual([first]);
  expect(await app.run(checkProject, { organization: 'acme', project: 'moved' })).toEqual({ problems: [] });
});

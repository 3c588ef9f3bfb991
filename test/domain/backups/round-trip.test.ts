import { rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { backupProject } from '../../../src/domain/backups/backup-project.operations.ts';
import { checkProject, findRemains } from '../../../src/domain/backups/check-project.operations.ts';
import { restoreBackup } from '../../../src/domain/backups/restore-backup.operations.ts';
import { createProject } from '../../../src/domain/projects/projects.operations.ts';
import { acme, shared, startTestApp } from '../../support/app.ts';
import { commitTo, post, postPath, seedPosts } from '../../support/conflict-site.ts';
import { temporaryDirectory } from '../../support/git-store.ts';
import { readProject } from '../../support/project-reads.ts';
import fc from '../../support/properties.ts';
import { rounds } from '../../support/rounds.ts';

vi.setConfig({ testTimeout: 240_000 });

const app = shared(startTestApp);
let made = 0;

/** One thing an editor does; whether it succeeds is no matter here. */
const step = fc.oneof(
  fc.record({ does: fc.constant('branch' as const), name: fc.constantFrom('one', 'deep/two', 'grün') }),
  fc.record({
    does: fc.constant('commit' as const),
    name: fc.constantFrom('main', 'one', 'deep/two', 'grün'),
    slug: fc.constantFrom('a', 'b', 'new'),
    title: fc.string({ maxLength: 20 }),
  }),
  fc.record({
    does: fc.constant('open' as const),
    head: fc.constantFrom('one', 'deep/two', 'grün'),
    base: fc.constantFrom('main', 'one'),
    body: fc.string({ unit: 'grapheme', maxLength: 40 }),
  }),
  fc.record({
    does: fc.constantFrom('close' as const, 'merge' as const, 'reopen' as const),
    number: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({ does: fc.constant('remove' as const), name: fc.constantFrom('one', 'deep/two') }),
  fc.record({ does: fc.constant('draft' as const), title: fc.string({ maxLength: 20 }) }),
  fc.record({ does: fc.constant('upload' as const), name: fc.constantFrom('x.svg', 'y.svg') }),
  fc.record({
    does: fc.constant('settings' as const),
    protected_branches: fc.subarray(['main', 'release/*']),
    require_preconditions: fc.boolean(),
  }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function take(project: string, one: Step): Promise<void> {
  const at = `${acme}/projects/${project}/studio`;
  const ask = (method: string, place: string, body: object = {}) => app.ask(method, `${at}${place}`, { body });
  switch (one.does) {
    case 'branch':
      return void (await ask('POST', '/branches', { name: one.name }));
    case 'commit':
      // Of a branch that is not there: refused, as a person would be.
      return void (await commitTo(app, one.name, { [postPath(one.slug)]: post({ title: one.title }) }, project).catch(
        () => '',
      ));
    case 'open':
      return void (await ask('POST', '/pulls', { title: 'Change', body: one.body, head: one.head, base: one.base }));
    case 'merge':
      return void (await ask('POST', `/pulls/${one.number}/merge`, {}));
    case 'close':
    case 'reopen':
      return void (await ask('PATCH', `/pulls/${one.number}`, { state: one.does === 'close' ? 'closed' : 'open' }));
    case 'remove':
      return void (await ask('DELETE', `/branches/${one.name}?force=true`));
    case 'draft': {
      const actions = [{ op: 'update', collection: 'posts', slug: 'a', frontmatter: { title: one.title } }];
      return void (await ask('POST', '/drafts', { actions, title: one.title }));
    }
    case 'upload':
      return void (await ask('POST', '/media', {
        path: `public/img/${one.name}`,
        content: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64'),
      }));
    case 'settings':
      return void (await ask('PATCH', '/repository', {
        protected_branches: one.protected_branches,
        require_preconditions: one.require_preconditions,
      }));
  }
}

/** A project with something of everything, then whatever the steps do to it. */
async function build(steps: readonly Step[]): Promise<string> {
  const project = `site-${++made}`;
  await app.run(createProject, { organization: 'acme', name: `Site “${made}”`, machine_name: project, region: 'eu' });
  await seedPosts(app, project);
  const begin: Step[] = [
    { does: 'upload', name: 'x.svg' },
    { does: 'draft', title: 'Frost' },
    ...(['one', 'deep/two', 'grün'] as const).flatMap((name): Step[] => [
      { does: 'branch', name },
      { does: 'commit', name, slug: 'new', title: name },
      { does: 'open', head: name, base: 'main', body: 'Ünïcode \u2028 🐝' },
    ]),
    { does: 'merge', number: 1 },
    { does: 'close', number: 2 },
  ];
  for (const one of [...begin, ...steps]) await take(project, one);
  return project;
}

const endedWithTheirBase: Step[] = [
  { does: 'branch', name: 'one' },
  { does: 'commit', name: 'one', slug: 'a', title: 'Only here' },
  { does: 'open', head: 'grün', base: 'one', body: '' },
  { does: 'merge', number: 4 },
  { does: 'remove', name: 'one' },
];

const openWithoutBase: Step[] = [
  { does: 'commit', name: 'one', slug: 'a', title: 'Only here' },
  { does: 'open', head: 'grün', base: 'one', body: '' },
  { does: 'remove', name: 'one' },
];

it('a project that was backed up, deleted and restored reads the same everywhere', async () => {
  const directory = temporaryDirectory();
  const roundTrip = async (steps: Step[]) => {
    const project = await build(steps);
    const before = await readProject(app, project);
    for (const state of ['open', 'closed', 'merged'])
      if (steps.length === 0) expect(before[`/studio/pulls?state=${state}`]).toMatchObject({ body: [{}] });
    const target = path.join(directory, project);
    await app.run(backupProject, { organization: 'acme', project, directory: target });
    expect((await app.ask('DELETE', `${acme}/projects/${project}`)).status).toBe(204);
    await app.run(restoreBackup, { organization: 'acme', directory: target, restored_project: project });
    expect(await readProject(app, project)).toEqual(before);
    expect(await app.run(checkProject, { organization: 'acme', project })).toEqual({ problems: [] });
    await rm(target, { recursive: true });
  };
  const steps = fc.array(step, { maxLength: 12 });
  await fc.assert(fc.asyncProperty(steps, roundTrip), {
    numRuns: rounds(5, 30),
    examples: [[[]], [endedWithTheirBase], [openWithoutBase]],
  });
  expect(await app.run(findRemains, {})).toEqual({ problems: [] });
});

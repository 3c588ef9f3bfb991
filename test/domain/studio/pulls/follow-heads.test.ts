import { beforeAll, expect, it } from 'vitest';
import { loadProject } from '../../../../src/domain/projects/project-ref.ts';
import { pullRef } from '../../../../src/domain/studio/pulls/pull.entity.ts';
import { followHeads } from '../../../../src/domain/studio/pulls/pull-retests.ts';
import { shared, startTestApp, studio } from '../../../support/app.ts';
import { commitTo, makeBranch, post, postPath, seedPosts } from '../../../support/conflict-site.ts';
import { withBefore } from '../../../support/overtake.ts';

const app = shared(startTestApp);

beforeAll(() => seedPosts(app));

const save = (branch: string, title: string) => commitTo(app, branch, { [postPath(branch)]: post({ title }) });

it.each(['on', 'back'])('a branch that moves %s while another process follows it is what is kept', async (way) => {
  const branch = `moves-${way}`;
  const { services } = app;
  const git = await app.repository();
  await makeBranch(app, branch);
  const before = await save(branch, 'first');
  const { body } = await app.ask('POST', `${studio}/pulls`, { body: { title: branch, head: branch } });
  const seen = await save(branch, 'second');
  await services.studio.moves.settled();
  // As it was before the process that is slow has done what it is about to do.
  const name = pullRef(body.number);
  await git.updateRefs([{ name, to: before }]);
  const slow = withBefore(git, 'updateRefs', async () => {
    if (way === 'on') await save(branch, 'third');
    else await git.resetBranch(branch, { from: seen, to: before });
    await services.studio.moves.settled();
  });
  const project = await loadProject(services.orm.em.fork(), { uuid: git.id });
  if (!project) throw new Error('the project is gone');
  await followHeads({ ...services, git: { ...services.git, open: () => slow } }, project, [branch]);
  const [kept] = await git.refsBelow(`refs/pull/${body.number}`);
  expect(await git.head(branch)).not.toBe(seen);
  expect(kept).toEqual({ name, oid: await git.head(branch) });
});

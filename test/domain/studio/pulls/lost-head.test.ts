import { beforeAll, expect, it } from 'vitest';
import { closeForLostHead } from '../../../../src/domain/studio/pulls/open-pulls.ts';
import { Pull } from '../../../../src/domain/studio/pulls/pull.entity.ts';
import { shared, startTestApp, studio } from '../../../support/app.ts';
import { commitTo, makeBranch, post, postPath, seedPosts } from '../../../support/conflict-site.ts';

const app = shared(startTestApp);

beforeAll(() => seedPosts(app));

async function propose(name: string): Promise<number> {
  await makeBranch(app, name);
  await commitTo(app, name, { [postPath(name)]: post({ title: name }) });
  const { body } = await app.ask('POST', `${studio}/pulls`, { body: { title: name, head: name } });
  return body.number;
}

/** The state of a follower of branches: the row as it was some time ago. @returns what closes it, as its branch has gone */
async function readEarly(number: number): Promise<() => Promise<void>> {
  const { services } = app;
  const em = services.orm.em.fork();
  const row = await em.findOneOrFail(Pull, { number });
  const git = await app.repository();
  return () => closeForLostHead({ em, git, services }, [row], row.head_sha);
}

const shown = async (number: number) => (await app.ask('GET', `${studio}/pulls/${number}`)).body;

it('a pull request that was merged since it was read stays merged', async () => {
  const number = await propose('merged-meanwhile');
  const close = await readEarly(number);
  const merge = await app.ask('POST', `${studio}/pulls/${number}/merge`, { body: { delete_branch: true } });
  expect(merge.status).toBe(200);
  await close();
  expect(await shown(number)).toMatchObject({ state: 'merged', closed_at: null, merge_commit_sha: expect.any(String) });
});

it('one that was renamed since it was read keeps its title, and is closed', async () => {
  const number = await propose('renamed-meanwhile');
  const close = await readEarly(number);
  await app.ask('PATCH', `${studio}/pulls/${number}`, { body: { title: 'Another title' } });
  await close();
  expect(await shown(number)).toMatchObject({ state: 'closed', title: 'Another title' });
});

import { expect, it } from 'vitest';
import { createProject, deleteProject } from '../../../src/domain/projects/projects.operations.ts';
import { seed, shared, startTestApp } from '../../support/app.ts';
import { makePerson, signedIn } from '../../support/browser.ts';
import { callOf, conversationsOf } from '../../support/conversations.ts';
import { startModelServer } from '../../support/model-server.ts';

const model = shared(startModelServer);
const app = shared(() => startTestApp({ PORTICO_ASSISTANT_URL: model.url, PORTICO_ASSISTANT_MODEL: 'scripted' }));

it('a reply writes nothing to a project that takes the name of its own meanwhile, and ends', async () => {
  const own = conversationsOf(
    app,
    await signedIn(app, await makePerson(app, { email: 'ann@example.org', role: 'editor' })),
  );
  const files = { 'content/posts/first.md': '---\ntitle: First\n---\n\nHello.\n' };
  await seed(app, files);
  model.script.push(
    async () => {
      await app.run(deleteProject, { organization: 'acme', project: 'site' });
      await app.run(createProject, { organization: 'acme', name: 'Site', machine_name: 'site' });
      const uuids = (await app.services.git.list()).ids;
      const empty = await Promise.all(uuids.map((uuid) => app.services.git.open(uuid).head('main')));
      const author = { name: 'Seed', email: 'seed@portico.test' };
      const changes = Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text) }));
      const plan = async () => ({ changes, message: 'Seed', result: null });
      await app.services.git.open(uuids[empty.indexOf(null)] ?? '').write({ branch: 'main', author, plan });
      return callOf('update_entry', { collection: 'posts', entry: 'first', frontmatter: { title: 'Wrong site' } });
    },
    { texts: ['Done'] },
  );
  const id = await own.begin();
  await own.mutate('sendMessage', { conversation: id, text: 'Rename the first post' });
  await app.services.assistant.replies.settled();
  for (const uuid of (await app.services.git.list()).ids)
    expect((await app.services.git.open(uuid).branches()).map(({ name }) => name)).toEqual(['refs/heads/main']);
  // The next step was not taken by the model.
  expect(model.script).toHaveLength(1);
});

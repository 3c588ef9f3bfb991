import { expect, it } from 'vitest';
import { acme, seed, shared, startTestApp, studio } from '../../support/app.ts';
import { backUp, restore } from '../../support/backups.ts';

const app = shared(startTestApp);

it('a restored project names the environment that draft previews are copies of, and has no previews', async () => {
  await seed(app, { 'index.html': '<h1>Hello</h1>' });
  const variables = [{ name: 'A', value: 'seen', secret: false, available_in_drafts: true }];
  const draft = { name: 'Live', branch: 'main', provider: 'static', auto_deploy: false, variables };
  const { body: live } = await app.ask('POST', `${studio}/environments`, { body: draft });
  await app.ask('PATCH', `${studio}/repository`, { body: { draft_preview: live.id } });
  await app.ask('POST', `${studio}/branches`, { body: { name: 'spring' } });
  expect((await app.ask('POST', `${studio}/draft-previews`, { body: { branch: 'spring' } })).status).toBe(200);
  await restore(app, await backUp(app, 'site'), 'copy');
  const copy = `${acme}/projects/copy/studio`;
  const { body: environments } = await app.ask('GET', `${copy}/environments`);
  expect(environments).toMatchObject([{ name: 'Live', variables: [{ name: 'A', available_in_drafts: true }] }]);
  const { settings } = (await app.ask('GET', `${copy}/repository`)).body;
  expect(settings.draft_preview).toBe(environments[0].id);
  expect(settings.draft_preview).not.toBe(live.id);
});

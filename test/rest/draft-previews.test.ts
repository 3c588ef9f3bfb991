import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { removeUnusedDraftPreviews } from '../../src/domain/studio/environments/draft-previews.ts';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { commitTo } from '../support/conflict-site.ts';
import type { Environment } from '../support/deployments.ts';
import { expectRefusal } from '../support/refusal.ts';

const app = shared(startTestApp);
/** Of somebody who edits and manages nothing. */
let editor: string;
/** The environment that drafts are copies of. */
let live: Environment;
beforeAll(async () => {
  await seed(app, { 'index.html': '<h1>Hello</h1>' });
  editor = await app.makeToken(['browse_studio', 'edit_studio', 'delete_studio']);
  const body = {
    name: 'Live',
    branch: 'main',
    provider: 'static',
    output_directory: 'site',
    visibility: 'public',
    url: 'https://www.example.org',
    timeout_seconds: 600,
    variables: [
      { name: 'PLAIN', value: 'seen', secret: false },
      { name: 'KEPT', value: 'production' },
      { name: 'SHARED', value: 'drafts', available_in_install: true, available_in_drafts: true },
    ],
  };
  live = (await app.ask('POST', `${studio}/environments`, { body })).body;
});

const set = (body: object, token = app.token) => app.ask('PATCH', `${studio}/repository`, { body, token });
const named = async () => (await app.ask('GET', `${studio}/repository`)).body.settings.draft_preview;
const change = (id: number, body: object) => app.ask('PATCH', `${studio}/environments/${id}`, { body });
const preview = (branch: string, token = editor) =>
  app.ask('POST', `${studio}/draft-previews`, { body: { branch }, token });
const read = (id: number) => app.ask('GET', `${studio}/environments/${id}`);
const deployments = async (id: number) => (await app.ask('GET', `${studio}/deployments?environment=${id}`)).body;

let count = 0;
/** A draft of its own. */
async function draft(): Promise<string> {
  const name = `draft/page-${++count}`;
  await app.ask('POST', `${studio}/branches`, { body: { name } });
  return name;
}

async function made(): Promise<Environment> {
  const { status, body } = await preview(await draft());
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body;
}

const previews = async (): Promise<Environment[]> =>
  (await app.ask('GET', `${studio}/environments?draft_preview=true`)).body;

beforeEach(async () => {
  // Deletes what earlier tests have left.
  await set({ draft_preview: null });
  expect((await set({ draft_preview: live.id })).body.settings.draft_preview).toBe(live.id);
});

describe('the environment that draft previews are copies of', () => {
  it('is named with manage_studio alone', async () => {
    expect(await named()).toBe(live.id);
    expectRefusal(await set({ draft_preview: null }, editor), 403, 'forbidden', /./);
  });

  it('returns 404 for one that is not there, 422 for one of an external provider, and keeps what is named', async () => {
    expectRefusal(await set({ draft_preview: 999_999 }), 404, 'not_found', /^draft_preview: /);
    const hook = { name: 'Hook', branch: 'main', provider: 'webhook', deploy_webhook_url: 'https://example.org/hook' };
    const { body } = await app.ask('POST', `${studio}/environments`, { body: { ...hook, auto_deploy: false } });
    expectRefusal(
      await set({ draft_preview: body.id }),
      422,
      'validation_failed',
      /^draft_preview: .*external provider/,
    );
    const elsewhere = { provider: 'webhook', deploy_webhook_url: 'https://example.org/hook' };
    expectRefusal(await change(live.id, elsewhere), 422, 'validation_failed', /^provider: /);
    expect((await read(live.id)).body.provider).toBe('static');
    expectRefusal(await set({ draft_preview: (await made()).id }), 422, 'validation_failed', /draft preview itself/);
    expect(await named()).toBe(live.id);
  });

  it('is none once it is deleted; its copies go with it', async () => {
    const other = { name: 'Other', branch: 'main', provider: 'static', auto_deploy: false };
    const { body } = await app.ask('POST', `${studio}/environments`, { body: other });
    await set({ draft_preview: body.id });
    const copy = await made();
    expect((await app.ask('DELETE', `${studio}/environments/${body.id}`)).status).toBe(204);
    expect([await named(), (await read(copy.id)).status]).toEqual([null, 404]);
  });
});

describe('POST', () => {
  it('returns 409 with what to do while no environment is named', async () => {
    await set({ draft_preview: null });
    expectRefusal(await preview('main'), 409, 'conflict', /setting draft_preview .* manage_studio/);
  });

  it('copies the named environment for members, without secrets that are not marked, and deploys the head', async () => {
    const branch = await draft();
    const { status, body } = await preview(branch);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      name: `Preview of ${branch}`,
      branch,
      type: 'preview',
      draft_preview: true,
      provider: 'static',
      output_directory: 'site',
      timeout_seconds: 600,
      visibility: 'members',
      auto_deploy: true,
      protected: false,
      published_deployment_id: null,
      latest_deployment: { status: 'queued', branch, trigger: 'manual' },
    });
    expect(body.variables).toEqual([
      { name: 'PLAIN', secret: false, available_in_install: false, available_in_drafts: false, value: 'seen' },
      { name: 'SHARED', secret: true, available_in_install: true, available_in_drafts: true, value: null },
    ]);
    expect(body.url).toContain('://preview-of-draft-page-');
    expect((await read(live.id)).body).toMatchObject({ draft_preview: false, url: 'https://www.example.org' });
  });

  it('returns the environment there is, and deploys the head only where it has no deployment yet', async () => {
    const first = await made();
    const again = await preview(first.branch);
    expect([again.body.id, await deployments(first.id)]).toEqual([first.id, [expect.anything()]]);
    const sha = await commitTo(app, first.branch, { 'index.html': '<h1>Changed</h1>' });
    await app.services.studio.moves.settled();
    expect((await preview(first.branch)).body.latest_deployment.commit_sha).toBe(sha);
    expect(await deployments(first.id)).toHaveLength(2);
    const { latest_deployment } = (await read(first.id)).body;
    await app.ask('POST', `${studio}/deployments/${latest_deployment.id}/cancel`, {});
    expect((await preview(first.branch)).body.latest_deployment).toMatchObject({ status: 'queued', commit_sha: sha });
    expect(await deployments(first.id)).toHaveLength(3);
  });

  it('makes one environment and one deployment for several calls at once', async () => {
    const branch = await draft();
    const answers = await Promise.all([1, 2, 3].map(() => preview(branch)));
    const [id, ...others] = new Set(answers.map(({ body }) => body.id));
    expect([answers.map(({ status }) => status), others]).toEqual([[200, 200, 200], []]);
    expect(await deployments(id)).toHaveLength(1);
  });

  it('gives the environments of branches that begin alike different names', async () => {
    const names = ['a', 'b'].map((end) => `long/${'x'.repeat(100)}-${end}`);
    const titles = [];
    for (const name of names) {
      await app.ask('POST', `${studio}/branches`, { body: { name } });
      titles.push((await preview(name)).body.name);
    }
    expect(new Set(titles).size).toBe(2);
    for (const title of titles) expect(title.length).toBeLessThanOrEqual(100);
  });

  it('returns 403 without edit_studio, 404 for a branch that is not there, 422 for what is no branch', async () => {
    const reader = await app.makeToken(['browse_studio', 'manage_studio']);
    expectRefusal(await preview('main', reader), 403, 'forbidden', /./);
    expectRefusal(await preview('nowhere'), 404, 'not_found', /^branch: /);
    expectRefusal(await preview('a b'), 422, 'invalid_name', /^branch: /);
    expect(await previews()).toEqual([]);
  });

  it('returns 409 for the eleventh of a project, and makes it once a draft is deleted', async () => {
    const all = [];
    for (let left = 10; left > 0; left -= 1) all.push(await made());
    const branch = await draft();
    const refused = await preview(branch);
    expectRefusal(refused, 409, 'limit_reached', /at most 10 draft previews: delete a draft/);
    expect(refused.body.details.branches.sort()).toEqual(all.map((one) => one.branch).sort());
    expect((await preview(all[0].branch)).body.id).toBe(all[0].id);
    await app.ask('DELETE', `${studio}/branches/${all[0].branch}`);
    await app.services.studio.moves.settled();
    expect((await preview(branch)).status).toBe(200);
  });

  it('counts apart from the 100 environments that a project can have', async () => {
    await made();
    const em = app.services.orm.em.fork();
    const own = (await app.ask('GET', `${studio}/environments?per_page=100`)).body.length - 1;
    await em.execute(
      `insert into environment (uuid, project_id, name, slug, branch, type, provider, root_directory, output_directory, variables, network,
         timeout_seconds, auto_deploy, cancel_superseded, visibility, protected, version, created_at, updated_at)
       select gen_random_uuid(), project_id, 'filler ' || place, 'filler-' || place, branch, type, provider, '', '', '[]', network,
         timeout_seconds, false, false, visibility, false, 1, created_at, updated_at
       from environment, generate_series(1, ?::integer) as place where id = ?`,
      [99 - own, live.id],
    );
    const create = (name: string) =>
      app.ask('POST', `${studio}/environments`, {
        body: { name, branch: 'main', provider: 'static', auto_deploy: false },
      });
    expect((await create('filler last')).status).toBe(201);
    expectRefusal(await create('filler more'), 409, 'limit_reached', /at most 100 environments/);
    expect((await made()).draft_preview).toBe(true);
    const listed = async (which: boolean) =>
      (await app.ask('GET', `${studio}/environments?draft_preview=${which}&per_page=100`)).body;
    const [previewed, others] = [await listed(true), await listed(false)];
    expect(others).toHaveLength(100);
    expect(previewed).toHaveLength(2);
    expect([...new Set(others.map((one: { draft_preview: boolean }) => one.draft_preview))]).toEqual([false]);
    expect(previewed.at(-1).draft_preview).toBe(true);
    await em.execute(`delete from environment where name like 'filler %'`);
  });

  it('leaves a row in the audit log', async () => {
    const { id, branch } = await made();
    const [row] = (await app.ask('GET', `${acme}/audit?action=studio.previewBranch&per_page=1`)).body;
    expect(row).toMatchObject({
      subject_type: 'environment',
      subject_id: String(id),
      outcome: 'ok',
      changes: { branch },
    });
  });
});

describe('a draft preview', () => {
  it('follows the environment it is a copy of: secrets that lose their mark are removed', async () => {
    const { id } = await made();
    const names = async () => (await read(id)).body.variables.map(({ name }: { name: string }) => name);
    expect(await names()).toEqual(['PLAIN', 'SHARED']);
    const variables = [
      { name: 'PLAIN', secret: false },
      { name: 'KEPT', available_in_drafts: true },
      { name: 'SHARED', available_in_install: true },
    ];
    await change(live.id, { variables, timeout_seconds: 700 });
    expect([await names(), (await read(id)).body.timeout_seconds]).toEqual([['PLAIN', 'KEPT'], 700]);
    const before = [{ name: 'PLAIN', secret: false }, { name: 'KEPT' }, { ...variables[2], available_in_drafts: true }];
    await change(live.id, { variables: before, timeout_seconds: 600 });
    expect(await names()).toEqual(['PLAIN', 'SHARED']);
  });

  it('follows another environment that is named', async () => {
    const { id } = await made();
    const other = { name: 'Bare', branch: 'main', provider: 'static', output_directory: 'bare', auto_deploy: false };
    const { body } = await app.ask('POST', `${studio}/environments`, { body: other });
    await set({ draft_preview: body.id });
    expect((await read(id)).body).toMatchObject({ output_directory: 'bare', variables: [] });
  });

  it('cannot be changed by itself, but shows another of its deployments or none, and can be deleted', async () => {
    const { id } = await made();
    for (const body of [{ visibility: 'public' }, { branch: 'main' }, { variables: [] }])
      expectRefusal(await change(id, body), 409, 'protected', /is a draft preview: change the one it is a copy of/);
    expect((await change(id, { published_deployment_id: null })).status).toBe(200);
    expectRefusal(await app.ask('DELETE', `${studio}/environments/${id}`, { token: editor }), 403, 'forbidden', /./);
    expect((await app.ask('DELETE', `${studio}/environments/${id}?force=true`)).status).toBe(204);
  });

  it('is deleted with its branch, and with the setting', async () => {
    const [first, second] = [await made(), await made()];
    await app.ask('DELETE', `${studio}/branches/${first.branch}`, { token: editor });
    await app.services.studio.moves.settled();
    expect((await previews()).map(({ id }) => id)).toEqual([second.id]);
    await set({ draft_preview: null });
    expect(await previews()).toEqual([]);
    expect((await read(live.id)).status).toBe(200);
  });

  it('is deleted after 14 days in which it was neither deployed to nor requested', async () => {
    const day = 24 * 3600_000;
    const begun = Date.now();
    const [unused, deployed, requested] = [await made(), await made(), await made()];
    const ids = async () => (await previews()).map(({ id }) => id);
    try {
      app.clock.now = new Date(begun + 10 * day);
      await app.ask('POST', `${studio}/deployments`, { body: { environment_id: deployed.id } });
      await preview(requested.branch);
      app.clock.now = new Date(begun + 14 * day - 60_000);
      await removeUnusedDraftPreviews(app.services);
      expect(await ids()).toEqual([unused.id, deployed.id, requested.id]);
      app.clock.now = new Date(begun + 14 * day + 60_000);
      await removeUnusedDraftPreviews(app.services);
      expect(await ids()).toEqual([deployed.id, requested.id]);
      app.clock.now = new Date(begun + 24 * day + 60_000);
      await removeUnusedDraftPreviews(app.services);
      expect(await ids()).toEqual([]);
      expect((await read(live.id)).status).toBe(200);
    } finally {
      app.clock.now = null;
    }
  });

  it('is deleted at night when its branch was deleted without notice', async () => {
    const [gone, left] = [await made(), await made()];
    // As a process leaves it that dies between the deletion and what follows it.
    await app.services.orm.em.fork().execute(`update environment set branch = 'gone' where id = ?`, [gone.id]);
    await removeUnusedDraftPreviews(app.services);
    expect((await previews()).map(({ id }) => id)).toEqual([left.id]);
  });
});

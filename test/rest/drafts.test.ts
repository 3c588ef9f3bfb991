import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { beforeAll, describe, expect, it } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { tally } from '../../src/ports/tally.ts';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { of, post } from '../support/change-actions.ts';
import { makeBranch } from '../support/conflict-site.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
let tip: string;
beforeAll(async () => {
  tip = await seed(app, siteFiles);
});

const drafts = `${studio}/drafts`;
const save = (body: object, headers: Record<string, string> = {}, token = app.token) =>
  app.ask('POST', drafts, { body, headers, token });
const branchCount = async () => (await app.ask('GET', `${studio}/branches?per_page=1`)).headers.get('x-total-count');
const rows = () => app.services.orm.em.fork().execute('select branch from draft order by branch');
const names = (body: { name: string }[]) => body.map(({ name }) => name);

describe('POST /drafts', () => {
  it('makes a branch that holds the change, and leaves the base alone', async () => {
    const { status, headers, body } = await save({ title: 'Spring, at last', actions: [post('en/spring')] });
    expect({ status, body }).toMatchObject({
      status: 201,
      body: {
        unchanged: false,
        branch: {
          name: 'draft/token-1-spring-at-last',
          default: false,
          can_commit: { allowed: true },
          draft: { owner: { id: 'token:1', name: 'Test' }, own: true, base: 'main', title: 'Spring, at last' },
        },
        commit: { parents: [tip], author: { name: 'Test' } },
        results: [{ op: 'create', slug: 'en/spring', unchanged: false }],
      },
    });
    expect(body.branch.commit).toBe(body.commit.sha);
    expect(headers.get('x-commit-sha')).toBe(body.commit.sha);
    const at = `${studio}/collections/posts/en/spring`;
    expect((await app.ask('GET', `${at}?branch=${encodeURIComponent(body.branch.name)}`)).status).toBe(200);
    expect((await app.ask('GET', at)).status).toBe(404);
    const read = await app.ask('GET', `${studio}/branches/${body.branch.name}`);
    expect(read.body).toEqual(body.branch);
  });

  it('is called after what it does, and has a number where the name is taken', async () => {
    const edit = { actions: [of('update', 'en/alpha', { frontmatter: { rating: 4 } })] };
    const [one, two] = [await save(edit), await save(edit)];
    expect(one.body.branch.draft.title).toBe(one.body.commit.message);
    expect(one.body.branch.name).toMatch(/^draft\/token-1-[a-z0-9-]{1,40}$/);
    expect(two.body.branch.name).toBe(`${one.body.branch.name}-2`);
  });

  it('makes one draft for an idempotency key', async () => {
    const ask = () => save({ title: 'Keyed', actions: [post('en/keyed')] }, { 'Idempotency-Key': 'd' });
    const [one, two] = [await ask(), await ask()];
    expect([one.status, two.status]).toEqual([201, 201]);
    expect(two.body).toEqual(one.body);
  });

  it('gives each of many at once a name of its own', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => save({ title: 'Raced', actions: [post(`en/raced-${n}`)] })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 201));
    const made = answers.map(({ body }) => body.branch.name);
    expect(new Set(made).size).toBe(6);
    for (const { body } of answers) {
      const { body: stored } = await app.ask('GET', `${studio}/branches/${body.branch.name}`);
      expect(stored).toMatchObject({ commit: body.commit.sha, draft: { title: 'Raced' } });
    }
  });

  it('begins at the base it names, also where only pull requests move that', async () => {
    const guarded = { protected_branches: ['main'], require_pull: true };
    await app.ask('PATCH', `${studio}/repository`, { body: guarded });
    const actions = [post('en/guarded')];
    expectRefusal(await app.ask('POST', `${studio}/changes`, { body: { actions } }), 403, 'branch_protected', /./);
    expect((await save({ actions, title: 'Guarded' })).status).toBe(201);
    await app.ask('PATCH', `${studio}/repository`, { body: { protected_branches: [], require_pull: false } });
    await makeBranch(app, 'topic');
    const { body } = await save({ base: 'topic', actions, title: 'On topic' });
    expect(body.branch.draft.base).toBe('topic');
  });

  it('makes no branch of a protected name that only pull requests move, without the right to', async () => {
    await app.ask('PATCH', `${studio}/repository`, {
      body: { protected_branches: ['main', 'draft/*'], require_pull: true },
    });
    const editor = await app.makeToken(['browse_studio', 'edit_studio']);
    const before = [await branchCount(), await rows()];
    const draft = { title: 'Kept', actions: [post('en/kept')] };
    expectRefusal(
      await save(draft, {}, editor),
      403,
      'branch_protected',
      /^draft\/.* needs the permission manage_studio/,
    );
    const variables = { input: draft };
    const query = `mutation ($input: SaveToDraftInput!) {
      saveToDraft(organization: "acme", project: "site", input: $input) { branch { name } } }`;
    const { body } = await app.ask('POST', '/graphql', { body: { query, variables }, token: editor });
    expect(body.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN', reason: 'branch_protected' } }]);
    expect([await branchCount(), await rows()]).toEqual(before);
    expect((await save(draft)).status).toBe(201);
    await app.ask('PATCH', `${studio}/repository`, { body: { protected_branches: [], require_pull: false } });
    expect((await save(draft, {}, editor)).status).toBe(201);
  });

  it('makes no branch where no byte changes', async () => {
    const before = [await branchCount(), await rows()];
    const { status, body } = await save({ actions: [of('update', 'en/alpha', { frontmatter: {} })] });
    expect({ status, body }).toMatchObject({ status: 200, body: { branch: null, commit: null, unchanged: true } });
    expect([await branchCount(), await rows()]).toEqual(before);
  });

  it('has another prefix beside a branch that is called draft', async () => {
    await app.run(createProject, { organization: 'acme', name: 'Other', machine_name: 'other' });
    await seed(app, siteFiles, 'other');
    const at = studio.replace('/site/', '/other/');
    await app.ask('POST', `${at}/branches`, { body: { name: 'draft' } });
    const { body } = await app.ask('POST', `${at}/drafts`, { body: { title: 'X', actions: [post('en/x')] } });
    expect(body.branch.name).toBe('portico-draft/token-1-x');
  });

  it('leaves nothing when an action is refused, and says which', async () => {
    const before = [await branchCount(), await rows()];
    const wrong = { actions: [post('en/fine'), post('en/alpha')] };
    expectRefusal(await save(wrong), 409, 'already_exists', /^actions\.1\.slug: /);
    expectRefusal(
      await save({ base: 'nowhere', actions: [post('en/x')] }),
      404,
      'not_found',
      'base: nowhere does not exist',
    );
    expectRefusal(await save({ actions: [] }), 400, 'invalid_request', 'actions: must have at least 1 action');
    expectRefusal(await save({ title: 'a\nb', actions: [post('en/x')] }), 400, 'invalid_request', /^title: /);
    expect([await branchCount(), await rows()]).toEqual(before);
  });

  it('needs the right to delete where an action deletes', async () => {
    const editor = await app.makeToken(['browse_studio', 'edit_studio']);
    const answer = await save({ actions: [of('delete', 'en/beta')] }, {}, editor);
    expectRefusal(answer, 403, 'forbidden', 'Missing permission: delete_studio');
    const reader = await app.makeToken(['browse_studio']);
    expectRefusal(await save({ actions: [post('en/x')] }, {}, reader), 403, 'forbidden', /edit_studio/);
  });
});

describe('GET /drafts', () => {
  it('lists drafts, the newest first, by base and by whose they are', async () => {
    const someone = await app.makeToken(['browse_studio', 'edit_studio']);
    const mine = await save({ title: 'Listed one', actions: [post('en/listed')] }, {}, someone);
    const later = await save({ title: 'Listed two', base: 'topic', actions: [post('en/listed')] }, {}, someone);
    const list = (query: string) => app.ask('GET', `${drafts}?per_page=100${query}`, { token: someone });
    expect(names((await list('&own=true')).body)).toEqual([later.body.branch.name, mine.body.branch.name]);
    expect(names((await list('&own=true&base=main')).body)).toEqual([mine.body.branch.name]);
    const { body: others, headers } = await list('&own=false&compare=true');
    expect(Number(headers.get('x-total-count'))).toBe(others.length);
    expect(others.every((each: { draft: { own: boolean } }) => !each.draft.own)).toBe(true);
    expect(others[0]).toMatchObject({ ahead_by: 1, behind_by: 0 });
    const paged = await app.ask('GET', `${drafts}?per_page=1&page=2`, { token: someone });
    expect(names(paged.body)).toEqual([mine.body.branch.name]);
  });

  it('reads of all drafts their names alone', async () => {
    const statements: string[] = [];
    const note = (given: unknown) => void statements.push(String((given as { text?: unknown }).text ?? given));
    subscribe(tally.statement.name, note);
    expect((await app.ask('GET', `${drafts}?per_page=1`)).status).toBe(200);
    unsubscribe(tally.statement.name, note);
    const whole = statements.filter((text) => /\.\* from "draft"/.test(text));
    expect(whole.map((text) => / in \(/.test(text))).toEqual([true]);
  });

  it('is no draft any more when its branch was deleted and another one of that name made', async () => {
    const { body } = await save({ title: 'Gone', actions: [post('en/gone')] });
    const { name } = body.branch;
    expect((await app.ask('DELETE', `${studio}/branches/${name}`)).status).toBe(204);
    expect(names((await app.ask('GET', `${drafts}?per_page=100`)).body)).not.toContain(name);
    const again = await app.ask('POST', `${studio}/branches`, { body: { name } });
    expect(again.status).toBe(201);
    expect(again.body.draft).toBeUndefined();
    await app.services.studio.moves.settled();
    expect((await rows()).map((row) => row.branch)).not.toContain(name);
  });

  it('removes what a draft that was cut off has left, once it is an hour old', async () => {
    await save({ title: 'Cut off', actions: [post('en/cut')] });
    const em = app.services.orm.em.fork();
    await em.execute(
      `update draft set branch = 'draft/cut', created_at = now() - interval '61 minutes' where branch like '%cut-off'`,
    );
    await save({ title: 'Next', actions: [post('en/next')] });
    expect((await rows()).map((row) => row.branch)).not.toContain('draft/cut');
  });
});

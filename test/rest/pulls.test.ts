import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { RepositoryReads } from '../../src/engines/git/repository-reads.ts';
import { DomainError } from '../../src/kernel/errors.ts';
import { acme, shared, startTestApp } from '../support/app.ts';
import { commitTo, post, postPath, seedPosts } from '../support/conflict-site.ts';
import { expectRefusal } from '../support/refusal.ts';

const fields = { title: 'A', description: 'Text', draft: false, tags: ['one'] };
const app = shared(startTestApp);
let project: string;
let studio: string;
let made = 0;
let head: string;
let root: string;

/** Each test has a site of its own, with a branch `topic` that is one commit ahead of `main`. */
beforeEach(async () => {
  project = `site-${++made}`;
  studio = `${acme}/projects/${project}/studio`;
  await app.run(createProject, { organization: 'acme', name: project, machine_name: project });
  root = await seedPosts(app, project);
  await branch('topic');
  head = await commit('topic', { [postPath('a')]: post({ ...fields, title: 'Theirs' }) });
});

const commit = (name: string, files: Record<string, string | null>) => commitTo(app, name, files, project);
const branch = (name: string) => app.ask('POST', `${studio}/branches`, { body: { name } });
const open = (more: object = {}) =>
  app.ask('POST', `${studio}/pulls`, { body: { title: 'Change', head: 'topic', ...more } });
const get = (at: string | number, headers = {}) => app.ask('GET', `${studio}/pulls/${at}`, { headers });
const change = (number: number, body: object, headers = {}) =>
  app.ask('PATCH', `${studio}/pulls/${number}`, { body, headers });
const merge = (number: number, body: object = {}, headers = {}) =>
  app.ask('POST', `${studio}/pulls/${number}/merge`, { body, headers });
const refOf = async (name: string) =>
  (await (await app.repository(project)).refsBelow('refs/pull')).find((ref) => ref.name === name)?.oid;

describe('a number in the path that is none', () => {
  it.each(['abc', '0', '-1', '1.5', '99999999999', '1e3', '%201'])('names nothing: %s', async (number) => {
    expectRefusal(await get(number), 404, 'not_found', /^Pull request .+ not found$/);
    for (const [method, place] of [
      ['PATCH', `${studio}/pulls/${number}`],
      ['POST', `${studio}/pulls/${number}/merge`],
      ['GET', `${studio}/environments/${number}`],
      ['DELETE', `${studio}/environments/${number}`],
      ['GET', `${studio}/deployments/${number}`],
      ['POST', `${studio}/deployments/${number}/cancel`],
      ['GET', `${studio}/deployments/1/jobs/${number}/log`],
      ['DELETE', `/api/v2/organizations/acme/tokens/${number}`],
    ] as const) {
      const answer = await app.ask(method, place, method === 'GET' ? {} : { body: {} });
      expect([place, answer.status]).toEqual([place, 404]);
    }
  });
});

describe('POST /pulls', () => {
  it('201 with the whole record, numbered from 1', async () => {
    const { status, headers, body } = await open({ body: 'Why', draft: true });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`${studio}/pulls/1`);
    expect(body).toEqual({
      number: 1,
      title: 'Change',
      body: 'Why',
      state: 'open',
      draft: true,
      head: { ref: 'topic', sha: head },
      base: { ref: 'main', sha: root },
      author: { id: expect.stringMatching(/^token:/), name: 'Test' },
      merged: false,
      mergeable: true,
      mergeable_state: 'clean',
      created_at: expect.any(String),
      updated_at: body.created_at,
      merged_at: null,
      closed_at: null,
      merge_commit_sha: null,
      conflicts: [],
      commits_count: 1,
      changed_files: 1,
      additions: 1,
      deletions: 1,
      deployments: [],
    });
    expect(await refOf('refs/pull/1/head')).toBe(head);
  });

  it('lists the deployments of its branch, the newest first, and no 304 hides one', async () => {
    await open();
    const before = (await get(1)).headers.get('etag') ?? '';
    const draft = { name: 'Topic', branch: 'topic', provider: 'static' };
    const { body: environment } = await app.ask('POST', `${studio}/environments`, { body: draft });
    await app.ask('POST', `${studio}/environments`, { body: { ...draft, name: 'Main', branch: 'main' } });
    const { status, body, headers } = await get(1, { 'If-None-Match': before });
    expect([status, body.deployments]).toEqual([200, [environment.latest_deployment]]);
    for (let more = 0; more < 20; more++)
      await app.ask('POST', `${studio}/deployments`, { body: { environment_id: environment.id } });
    const { deployments } = (await get(1)).body;
    expect(deployments.length).toBe(20);
    expect(deployments[0]).toMatchObject({ status: 'queued', run_number: 22 });
    expect(deployments[1]).toMatchObject({ status: 'completed', conclusion: 'skipped', run_number: 21 });
    // What is deployed is no reason to refuse a change.
    expect((await change(1, { title: 'Other' }, { 'If-Match': headers.get('etag') ?? '' })).status).toBe(200);
    expect((await change(1, { title: 'Again' }, { 'If-Match': headers.get('etag') ?? '' })).status).toBe(412);
  });

  it('numbers those opened at the same time one after another', async () => {
    const names = ['b1', 'b2', 'b3', 'b4'];
    for (const name of names) {
      await branch(name);
      await commit(name, { [`${name}.css`]: name });
    }
    const answers = await Promise.all(names.map((name) => open({ head: name })));
    expect(answers.map(({ body }) => body.number).sort()).toEqual([1, 2, 3, 4]);
  });

  it('409 when one of the same branches is open', async () => {
    const answers = await Promise.all([open(), open()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    const again = await open();
    expectRefusal(again, 409, 'already_exists', /^head: pull request 1/);
    expect(again.body.details).toEqual({ number: 1 });
  });

  it('422 nothing_to_merge, 404 and 400', async () => {
    await branch('same');
    expectRefusal(await open({ head: 'same' }), 422, 'nothing_to_merge', /^head: /);
    expectRefusal(await open({ head: 'main' }), 422, 'nothing_to_merge', /^head: /);
    expectRefusal(await open({ head: 'nothing' }), 404, 'not_found', /^head: /);
    expectRefusal(await open({ base: 'nothing' }), 404, 'not_found', /^base: /);
    expectRefusal(await open({ title: ' ' }), 400, 'invalid_request', /^title: /);
    expectRefusal(await open({ title: 'a\nb' }), 400, 'invalid_request', /^title: /);
  });
});

describe('GET /pulls', () => {
  const list = async (query = '') => (await app.ask('GET', `${studio}/pulls?${query}`)).body;
  const numbers = async (query = '') => (await list(query)).map(({ number }: { number: number }) => number);

  it('200, filtered and sorted', async () => {
    await branch('second');
    await commit('second', { 'x.css': 'x' });
    await open();
    await open({ head: 'second', base: 'topic' });
    await change(1, { title: 'Changed' });
    expect(await numbers()).toEqual([2, 1]);
    expect(await numbers('direction=asc')).toEqual([1, 2]);
    expect(await numbers('sort=updated')).toEqual([1, 2]);
    expect(await numbers('base=topic')).toEqual([2]);
    expect(await numbers('head=topic')).toEqual([1]);
    expect(await numbers('author=Test')).toEqual([2, 1]);
    expect(await numbers('author=Nobody')).toEqual([]);
    await change(1, { state: 'closed' });
    expect(await numbers()).toEqual([2]);
    expect(await numbers('state=closed')).toEqual([1]);
    expect(await numbers('state=all&per_page=1&page=2')).toEqual([1]);
    expect(await list('state=closed')).toMatchObject([
      { state: 'closed', mergeable: null, closed_at: expect.any(String) },
    ]);
  });

  it('400 for a state there is not', async () => {
    expectRefusal(await app.ask('GET', `${studio}/pulls?state=x`), 400, 'invalid_request', /^state: /);
  });
});

describe('GET /pulls/{number}', () => {
  it('200 with what a merge would meet', async () => {
    await open();
    await commit('main', { 'x.css': 'x' });
    expect((await get(1)).body).toMatchObject({ mergeable: true, mergeable_state: 'behind' });
    await commit('main', { [postPath('a')]: post({ ...fields, title: 'Ours' }) });
    expect((await get(1)).body).toMatchObject({
      mergeable: false,
      mergeable_state: 'dirty',
      conflicts: [{ path: postPath('a'), fields: [{ field: '/title', current: 'Ours', incoming: 'Theirs' }] }],
    });
  });

  it('304 until it or a branch of it changes', async () => {
    await open();
    const { headers } = await get(1);
    const tag = { 'If-None-Match': headers.get('etag') ?? '' };
    expect((await get(1, tag)).status).toBe(304);
    await change(1, { body: 'New' });
    expect((await get(1, tag)).status).toBe(200);
  });

  it('404', async () => {
    expectRefusal(await get(7), 404, 'not_found', 'Pull request 7 not found');
  });
});

describe('GET /pulls/{number}/files', () => {
  it('200 with the fields that change, after the merge too', async () => {
    await open();
    const files = async () => (await get('1/files')).body;
    expect(await files()).toMatchObject([{ path: postPath('a'), slug: 'a', fields: ['/title'] }]);
    await merge(1, { strategy: 'squash' });
    expect(await files()).toMatchObject([{ path: postPath('a'), fields: ['/title'] }]);
  });
});

describe('PATCH /pulls/{number}', () => {
  it('200 changes, closes and opens again', async () => {
    await open();
    expect((await change(1, { title: 'New', draft: true })).body).toMatchObject({
      title: 'New',
      draft: true,
      body: '',
    });
    expect((await change(1, { state: 'closed' })).body).toMatchObject({ state: 'closed', mergeable_state: 'unknown' });
    await commit('topic', { 'x.css': 'x' });
    expect((await get(1)).body.head.sha).toBe(head);
    expect((await change(1, { state: 'open' })).body).toMatchObject({
      state: 'open',
      closed_at: null,
      changed_files: 2,
    });
  });

  it('409 when it has been merged, or another of its branches is open', async () => {
    await open();
    await change(1, { state: 'closed' });
    await open();
    expectRefusal(await change(1, { state: 'open' }), 409, 'already_exists', /./);
    await merge(2);
    expectRefusal(await change(2, { state: 'open' }), 409, 'not_mergeable', /merged/);
  });

  it('412 when it has changed since it was read', async () => {
    const { headers } = await open();
    const tag = { 'If-Match': headers.get('etag') ?? '' };
    expect((await change(1, { title: 'One' }, tag)).status).toBe(200);
    expectRefusal(await change(1, { title: 'Two' }, tag), 412, 'precondition_failed', /^If-Match: /);
  });
});

describe('POST /pulls/{number}/merge', () => {
  it('200, and the record says so', async () => {
    await open();
    const { status, headers, body } = await merge(1, { sha: head });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      merged: true,
      message: expect.stringMatching(/^Merge pull request #1 from topic\n\nChange/),
      commit: { parents: [root, head] },
      pull: { state: 'merged', merged: true, merge_commit_sha: body.sha, head: { sha: head }, base: { sha: root } },
    });
    expect(headers.get('x-commit-sha')).toBe(body.sha);
    expect((await get(1)).body).toMatchObject({ merged_at: expect.any(String), commits_count: 1, changed_files: 1 });
  });

  it('200 with squash, and the branch deleted', async () => {
    await open({ body: 'Because' });
    const { body } = await merge(1, { strategy: 'squash', delete_branch: true });
    expect(body).toMatchObject({ branch_deleted: true, message: expect.stringMatching(/^Change \(#1\)\n\nBecause/) });
    expect(await (await app.repository(project)).head('topic')).toBeNull();
    expect(await refOf('refs/pull/1/head')).toBe(head);
    expect((await app.ask('GET', `${studio}/commits?ref=${head}`)).status).toBe(200);
  });

  it('200 into a branch that only pull requests move', async () => {
    await open();
    await app.ask('PATCH', `${studio}/repository`, { body: { protected_branches: ['main'], require_pull: true } });
    expect((await merge(1)).status).toBe(200);
  });

  it('200 with resolutions of the conflicts it shows', async () => {
    await open();
    await commit('main', { [postPath('a')]: post({ ...fields, title: 'Ours' }) });
    const answer = await merge(1);
    expectRefusal(answer, 409, 'merge_conflict', /conflict/);
    const [{ path, stages }] = answer.body.details.conflicts;
    const { status, body } = await merge(1, {
      resolutions: [{ path, stages, fields: { '/title': { value: 'Both' } } }],
    });
    expect({ status, body }).toMatchObject({ status: 200, body: { resolved: [{ path }] } });
  });

  it('409 not_mergeable for a draft, a closed and a merged one', async () => {
    await open({ draft: true });
    expectRefusal(await merge(1), 409, 'not_mergeable', /draft/);
    await change(1, { draft: false, state: 'closed' });
    expectRefusal(await merge(1), 409, 'not_mergeable', /closed/);
    await change(1, { state: 'open' });
    await merge(1);
    expectRefusal(await merge(1), 409, 'not_mergeable', /merged/);
  });

  it('409 sha_mismatch when the head moved, and it can be merged after that', async () => {
    await open();
    const now = await commit('topic', { 'x.css': 'x' });
    const answer = await merge(1, { sha: head });
    expectRefusal(answer, 409, 'sha_mismatch', /^sha: /);
    expect(answer.body.details.current_sha).toBe(now);
    expect((await merge(1, { sha: now })).status).toBe(200);
  });

  it('409 when the branch it shall delete is wanted otherwise', async () => {
    await open();
    await branch('base2');
    await open({ base: 'base2' });
    const answer = await merge(1, { delete_branch: true });
    expectRefusal(answer, 409, 'in_use', /^delete_branch: /);
    expect(answer.body.details.pulls).toEqual([2]);
  });

  it('403 to delete a branch without delete_studio', async () => {
    await open();
    const token = await app.makeToken(['edit_studio']);
    const answer = await app.ask('POST', `${studio}/pulls/1/merge`, { body: { delete_branch: true }, token });
    expectRefusal(answer, 403, 'forbidden', /delete_studio/);
  });

  it('404 when a branch of it is gone, or 409 when it has been closed for that', async () => {
    await open();
    await (await app.repository(project)).deleteBranch('topic', head);
    const answer = await merge(1);
    // What follows branches may have closed it by now.
    if (answer.status === 409) expectRefusal(answer, 409, 'not_mergeable', /is closed/);
    else expectRefusal(answer, 404, 'not_found', /^head: /);
    expect((await get(1)).body).toMatchObject({ mergeable: null, mergeable_state: 'unknown' });
  });

  it.each(['merge', 'squash'])('once, however many merge it at the same time (%s)', async (strategy) => {
    await open();
    const answers = await Promise.all(Array.from({ length: 4 }, () => merge(1, { strategy })));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 409, 409, 409]);
    for (const { status, body } of answers) if (status === 409) expect(['busy', 'not_mergeable']).toContain(body.code);
    const { body } = await app.ask('GET', `${studio}/commits`);
    expect(body).toHaveLength(strategy === 'merge' ? 3 : 2);
  });
});

describe('DELETE /branches/{name} of an open pull request', () => {
  const remove = (query = '') => app.ask('DELETE', `${studio}/branches/topic${query}`);

  it('409 in_use with its number; with force it is closed and what it proposed is kept', async () => {
    await open();
    const answer = await remove();
    expectRefusal(answer, 409, 'in_use', /^name: topic is the head/);
    expect(answer.body.details).toEqual({ pulls: [1] });
    expect((await remove('?force=true')).status).toBe(204);
    expect((await get(1)).body).toMatchObject({ state: 'closed', head: { sha: head }, changed_files: 1 });
  });
});

describe('GraphQL', () => {
  const run = async (query: string) => (await app.ask('POST', '/graphql', { body: { query } })).body;
  const at = () => `organization: "acme", project: "${project}"`;

  it('opens, shows and merges a pull request; conflicts are data', async () => {
    const opened = await run(
      `mutation { createPull(${at()}, input: { title: "T", head: "topic" }) { number files { nodes { fields } } } }`,
    );
    expect(opened).toEqual({ data: { createPull: { number: 1, files: { nodes: [{ fields: ['/title'] }] } } } });
    await commit('main', { [postPath('a')]: post({ ...fields, title: 'Ours' }) });
    const mutation = (more = '') =>
      `mutation { mergePull(${at()}, input: { number: 1 ${more} }) { merged conflicts { path } pull { state } } }`;
    const refused = await run(mutation());
    expect(refused.data.mergePull).toEqual({
      merged: false,
      conflicts: [{ path: postPath('a') }],
      pull: { state: 'open' },
    });
    const settle = `stages: { base: %b, current: %c, incoming: %i }`;
    const { stages } = (await get(1)).body.conflicts[0];
    const named = settle
      .replace('%b', `"${stages.base}"`)
      .replace('%c', `"${stages.current}"`)
      .replace('%i', `"${stages.incoming}"`);
    const done = await run(mutation(`, resolutions: [{ path: "${postPath('a')}", ${named}, take: incoming }]`));
    expect(done.data.mergePull).toEqual({ merged: true, conflicts: [], pull: { state: 'merged' } });
    const shown = await run(
      `{ project(${at()}) { studio { pulls(state: all) { nodes { number state } } pull(number: 1) { merged } } } }`,
    );
    expect(shown.data.project.studio).toEqual({
      pulls: { nodes: [{ number: 1, state: 'merged' }] },
      pull: { merged: true },
    });
    const closed = await run(`mutation { updatePull(${at()}, input: { number: 1, title: "New" }) { title } }`);
    expect(closed.data.updatePull).toEqual({ title: 'New' });
  });
});

describe('what is shown of a pull request', () => {
  afterEach(() => vi.restoreAllMocks());

  const tooLong = () => new DomainError('git_timeout', 'git took too long and was stopped');
  const untold = { changed_files: null, additions: null, deletions: null };

  it('is found out when nothing is held any more, so that others are opened and changed meanwhile', async () => {
    await branch('other');
    await commit('other', { [postPath('b')]: post({ ...fields, title: 'Other' }) });
    const { promise: counted, resolve: count } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    onTestFinished(() => count());
    const { diffTotals } = RepositoryReads.prototype;
    vi.spyOn(RepositoryReads.prototype, 'diffTotals').mockImplementationOnce(async function (
      this: RepositoryReads,
      ...args
    ) {
      begin();
      await counted;
      return diffTotals.apply(this, args);
    });
    const opened = open();
    await begun;
    expect((await open({ head: 'other' })).body.number).toBe(2);
    expect((await change(1, { title: 'Renamed' })).status).toBe(200);
    expect((await change(1, { state: 'closed' })).status).toBe(200);
    expect((await change(1, { state: 'open' })).status).toBe(200);
    count();
    expect((await opened).body).toMatchObject({ number: 1, title: 'Change', changed_files: 1 });
  });

  it('lacks what takes git too long, and is opened, changed, shown and merged for all that', async () => {
    vi.spyOn(RepositoryReads.prototype, 'diffTotals').mockImplementation(() => Promise.reject(tooLong()));
    const opened = await open();
    expect(opened.status).toBe(201);
    expect(opened.body).toMatchObject({ number: 1, mergeable: true, commits_count: 1, ...untold });
    const tag = opened.headers.get('etag') ?? '';
    const read = await get(1, { 'If-None-Match': tag });
    expect(read.status).toBe(200);
    expect(read.body).toMatchObject(untold);
    expect((await change(1, { title: 'New' }, { 'If-Match': tag })).body).toMatchObject({ title: 'New', ...untold });
    expect((await merge(1)).body).toMatchObject({ merged: true, pull: untold });
  });

  it('is no reason to refuse what has been done already, whatever git cannot say', async () => {
    const busy = () => Promise.reject(new DomainError('unavailable', 'git is busy'));
    const spies = () =>
      (['aheadBehind', 'mergeability', 'diffTotals'] as const).map((name) =>
        vi.spyOn(RepositoryReads.prototype, name).mockImplementation(busy),
      );
    spies();
    const nothing = { mergeable: null, mergeable_state: 'unknown', commits_count: null, ...untold };
    const opened = await open();
    expect([opened.status, opened.body]).toMatchObject([201, { number: 1, ...nothing }]);
    expectRefusal(await get(1), 503, 'unavailable', /busy/);
    expect((await change(1, { state: 'closed' })).body).toMatchObject({ state: 'closed', commits_count: null });
  });

  it('says nothing of a merge that takes git too long', async () => {
    vi.spyOn(RepositoryReads.prototype, 'mergeability').mockImplementation(() => Promise.reject(tooLong()));
    await commit('main', { [postPath('c')]: post(fields) });
    expect((await open()).body).toMatchObject({ mergeable: null, mergeable_state: 'unknown', conflicts: [] });
    vi.restoreAllMocks();
    expect((await get(1)).body).toMatchObject({ mergeable: true, mergeable_state: 'behind' });
  });
});

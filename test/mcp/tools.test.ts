import type { Client } from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { permissionOf } from '../../src/domain/assistant/call-tool.ts';
import { tools } from '../../src/domain/assistant/tools.ts';
import { getEntry } from '../../src/domain/studio/entries/entries.operations.ts';
import { readBranchRules } from '../../src/domain/studio/repository/branches.operations.ts';
import { getFile } from '../../src/domain/studio/repository/files.operations.ts';
import { permissionNames, presets } from '../../src/kernel/actor.ts';
import { answerMemory } from '../../src/kernel/answer-memory.ts';
import { DomainError } from '../../src/kernel/errors.ts';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { save } from '../support/git-store.ts';
import { callTool, connectClient, connectFormerClient } from '../support/mcp-client.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
let client: Client;
let readOnly: string;

beforeAll(async () => {
  await seed(app, siteFiles);
  client = await connectClient(app, app.token);
  readOnly = await app.makeToken(presets.readonly);
});
afterAll(async () => {
  await client?.close();
});

const rawOf = async (entry: string, branch = 'main') =>
  (await app.ask('GET', `${studio}/collections/posts/${entry}?raw=true&branch=${branch}`)).body.raw;
const headOf = async (branch: string) => (await app.ask('GET', `${studio}/branches/${branch}`)).body.commit;
const branch = async (name: string) => {
  await app.ask('POST', `${studio}/branches`, { body: { name } });
  return name;
};

describe('tools/list', () => {
  it('lists 24 tools with schemas of input and output, and hints by what they do', async () => {
    const { tools: listed } = await client.listTools();
    expect(listed.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    expect(listed).toHaveLength(24);
    const byName = new Map(listed.map((tool) => [tool.name, tool]));
    expect(byName.get('get_entry')?.annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
    expect(byName.get('create_entry')?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: false });
    for (const name of ['delete_entry', 'delete_media', 'merge_branches', 'merge_pull'])
      expect(byName.get(name)?.annotations, name).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    expect(byName.get('update_entry')?.inputSchema).toMatchObject({
      type: 'object',
      required: ['collection', 'entry', 'branch'],
      properties: { project: { type: 'string' }, frontmatter: { description: expect.any(String) } },
    });
    expect(Object.keys(byName.get('update_entry')?.inputSchema.properties ?? {})).not.toContain('author');
  });

  it('lists and runs for a token with one permission what that permission allows', async () => {
    for (const permission of permissionNames) {
      const token = await app.makeToken([permission]);
      const own = await connectClient(app, token);
      const listed = (await own.listTools()).tools.map(({ name }) => name);
      const allowed = tools.filter((tool) => permissionOf(tool) === permission).map(({ name }) => name);
      expect(listed, permission).toEqual(allowed);
      for (const { name } of tools) {
        if (allowed.includes(name)) continue;
        const { isError, content } = await callTool(own, name, argumentsFor(name));
        expect({ name, isError, error: content.error }, permission).toEqual({
          name,
          isError: true,
          error: 'forbidden',
        });
      }
      await own.close();
    }
  });

  it('gives clients of 2025 the same tools', async () => {
    const former = await connectFormerClient(app, app.token);
    expect((await former.listTools()).tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    const { structuredContent } = await former.callTool({
      name: 'get_entry',
      arguments: { collection: 'posts', entry: 'en/alpha' },
    });
    expect(structuredContent).toMatchObject({ title: 'Alpha', frontmatter: { tags: ['one', 'two'] } });
    await former.close();
  });
});

/** Arguments that each tool takes, none of which exist. */
function argumentsFor(name: string): Record<string, unknown> {
  const all = {
    collection: 'posts',
    entry: 'none',
    slug: 'none',
    branch: 'none',
    media: 'public/none.png',
    name: 'none',
    base: 'none',
    head: 'none-2',
    title: 'None',
    number: 4711,
    deployment: 4711,
    path: 'none',
    q: 'none',
    content: '',
  };
  const wanted = tools.find((tool) => tool.name === name)?.inputs.shape ?? {};
  return Object.fromEntries(Object.entries(all).filter(([key]) => Object.hasOwn(wanted, key)));
}

describe('reading tools', () => {
  it('find entries of all collections by words, and of one by its fields', async () => {
    const found = await callTool(client, 'search_entries', { q: 'café' });
    expect(found.content).toMatchObject({
      total_count: 1,
      items: [{ collection: 'posts', slug: 'en/alpha', title: 'Alpha' }],
    });
    expect(found.content.items[0]).not.toHaveProperty('frontmatter');
    const listed = await callTool(client, 'search_entries', { collection: 'posts', sort: ['-title'], locale: 'en' });
    expect(listed.content.items.map(({ slug }: { slug: string }) => slug)).toEqual([
      'en/deep/gamma',
      'en/beta',
      'en/alpha',
    ]);
    expect((await callTool(client, 'search_entries', { q: 'x', sort: ['title'] })).content).toMatchObject({
      error: 'invalid_request',
      message: 'sort: needs `collection`',
    });
    expect((await callTool(client, 'search_entries')).content.message).toBe(
      'q: must not be empty, unless `collection` is given',
    );
  });

  it('say what to call next where a list goes on, and link to the dashboard', async () => {
    const { content, link } = await callTool(client, 'list_collections', { per_page: 1 });
    expect(content).toMatchObject({
      has_next_page: true,
      next: 'There is more: call list_collections again with page: 2',
    });
    expect(link).toBe('http://portico.test/p/acme/site/content');
    const last = await callTool(client, 'list_collections', { per_page: 1, page: 2 });
    expect(last.content).not.toHaveProperty('next');
  });

  it('give a long text in ranges that together are the whole', async () => {
    const body = `${'0123456789'.repeat(3_000)}😀 end\n`;
    const name = await branch('long');
    await callTool(client, 'create_entry', {
      ...{ collection: 'posts', slug: 'en/long', branch: name, body },
      frontmatter: { title: 'Long', author: 'ada' },
    });
    let text = '';
    let offset = 0;
    for (let calls = 1; ; calls += 1) {
      const at = { collection: 'posts', entry: 'en/long', branch: name, offset };
      const { content } = await callTool(client, 'get_entry', at);
      text += content.body;
      expect(content.range).toEqual({ offset, length: content.body.length, total: body.length });
      offset += content.range.length;
      if (content.next === undefined) break;
      expect(content.next).toBe(`The body goes on: call get_entry again with offset: ${offset}`);
      expect(calls).toBeLessThan(5);
    }
    expect(text).toBe(body);
    const middle = await callTool(client, 'get_entry', {
      ...{ collection: 'posts', entry: 'en/long', branch: name },
      ...{ offset: 30_001, length: 2 },
    });
    expect(middle.content.body).toBe(' e');
    const longest = { collection: 'posts', entry: 'en/long', branch: name, length: 20_000 };
    expect((await callTool(client, 'get_entry', longest)).content.body).toHaveLength(20_000);
    expect((await callTool(client, 'get_entry', { ...longest, length: 20_001 })).content).toMatchObject({
      error: 'invalid_request',
      message: 'length: must be at most 20000',
    });
  });

  it('shorten what is too long, and say so', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 800 }, (_, at) => [`many/${'x'.repeat(40)}-${at}.txt`, `${at}\n`]),
    );
    await seed(app, files);
    const { content, text } = await callTool(client, 'get_filetree');
    expect(text.length).toBeLessThan(32 * 1024);
    expect(content.tree.length).toBeGreaterThan(50);
    expect(content.next).toContain('shortened');
  });
});

describe('writing tools', () => {
  it('write to a branch, of which a pull request is made', async () => {
    const name = await branch('retitle');
    const before = await rawOf('en/alpha');
    const { content: entry } = await callTool(client, 'get_entry', {
      collection: 'posts',
      entry: 'en/alpha',
      branch: name,
    });
    const { content, link } = await callTool(client, 'update_entry', {
      ...{ collection: 'posts', entry: 'en/alpha', branch: name, sha: entry.sha },
      ...{ frontmatter: { title: 'Omega' }, message: 'Retitle Alpha' },
    });
    expect(content).toMatchObject({ title: 'Omega', commit: { message: expect.stringMatching(/^Retitle Alpha/) } });
    expect(link).toBe('http://portico.test/p/acme/site/content/posts/en/alpha?draft=retitle');
    expect(await rawOf('en/alpha', name)).toBe(before.replace('"Alpha"', '"Omega"'));
    expect(await rawOf('en/alpha')).toBe(before);
    const made = await callTool(client, 'create_pull', {
      head: name,
      title: 'Retitle Alpha',
      body: 'It is the last one.',
    });
    expect(made.content).toMatchObject({ number: expect.any(Number), state: 'open', head: { ref: name } });
    const stale = await callTool(client, 'update_entry', {
      ...{ collection: 'posts', entry: 'en/alpha', branch: name, sha: entry.sha, frontmatter: { title: 'Other' } },
    });
    expect(stale).toMatchObject({ isError: true, content: { error: 'sha_mismatch', advice: expect.any(String) } });
  });

  it('refuse the default branch and protected ones to a token that may not publish', async () => {
    await app.ask('PATCH', `${studio}/repository`, { body: { protected_branches: ['release/*'] } });
    await branch('release/1');
    const before = [await headOf('main'), await headOf('release/1')];
    const draft = { collection: 'posts', slug: 'en/new', frontmatter: { title: 'New', author: 'ada' } };
    for (const name of ['main', 'release/1']) {
      const { isError, content } = await callTool(client, 'create_entry', { ...draft, branch: name });
      expect({ isError, error: content.error }, name).toEqual({ isError: true, error: 'branch_protected' });
      const merge = { head: 'retitle', base: name };
      expect((await callTool(client, 'merge_branches', merge)).content.error, name).toBe('branch_protected');
    }
    const { content: pulls } = await callTool(client, 'list_pulls');
    expect((await callTool(client, 'merge_pull', { number: pulls.items[0].number })).content.error).toBe(
      'branch_protected',
    );
    expect((await callTool(client, 'create_entry', draft)).content.message).toBe('branch: is required');
    expect([await headOf('main'), await headOf('release/1')]).toEqual(before);
    for (const action of ['studio.createEntry', 'studio.mergeBranches']) {
      const { body: rows } = await app.ask('GET', `${acme}/audit?action=${action}`);
      expect(rows.filter(({ outcome }: { outcome: string }) => outcome === 'denied').length, action).toBeGreaterThan(1);
    }
    const publisher = await connectClient(app, await app.makeToken(permissionNames, { mcp: { publish: true } }));
    expect((await callTool(publisher, 'create_entry', { ...draft, branch: 'main' })).content).toMatchObject({
      slug: 'en/new',
    });
    expect((await callTool(publisher, 'create_branch', { name: 'release/2' })).content.name).toBe('release/2');
    await publisher.close();
  });

  it('refuse what would make a branch public to a token that may not publish', async () => {
    await app.ask('PATCH', `${studio}/repository`, { body: { protected_branches: ['release/*'] } });
    for (const [name, type] of [
      ['live', 'production'],
      ['trial', 'preview'],
    ] as const) {
      await branch(name);
      await app.ask('POST', `${studio}/environments`, {
        body: { name, branch: name, type, auto_deploy: true, provider: 'static' },
      });
      await app.ask('DELETE', `${studio}/branches/${name}`);
    }
    for (const [name, what] of [
      ['release/9', 'protected'],
      ['live', 'deployed to live'],
    ]) {
      const { content } = await callTool(client, 'create_branch', { name });
      expect(content.message).toBe(
        `name: ${name} is ${what}, and this credential may not publish: choose another name`,
      );
    }
    expect((await callTool(client, 'create_branch', { name: 'trial' })).content.name).toBe('trial');
    await branch('live');
    const draft = { collection: 'posts', slug: 'en/live', frontmatter: { title: 'Live', author: 'ada' } };
    expect((await callTool(client, 'create_entry', { ...draft, branch: 'live' })).content.error).toBe(
      'branch_protected',
    );
    expect((await callTool(client, 'create_entry', { ...draft, branch: 'trial' })).isError).toBe(false);
  });

  it('refuse the first commit of an empty repository to a token that may not publish', async () => {
    await app.ask('POST', `${acme}/projects`, { body: { name: 'Bare', machine_name: 'bare' } });
    const wary = await connectClient(app, await app.makeToken(permissionNames, { mcp: {} }));
    const first = { collection: 'posts', slug: 'one', body: 'one', branch: 'main' };
    const { content } = await callTool(wary, 'create_entry', { ...first, organization: 'acme', project: 'bare' });
    expect(content.message).toMatch(/^branch: main is the default branch/);
    await wary.close();
    expect((await app.ask('DELETE', `${acme}/projects/bare`)).status).toBeLessThan(300);
  });

  it('refuse a branch that cannot be looked at', async () => {
    const before = await headOf('main');
    vi.spyOn(readBranchRules, 'execute').mockRejectedValueOnce(new DomainError('unavailable', 'Away'));
    const draft = { collection: 'posts', slug: 'en/away', frontmatter: { title: 'Away', author: 'ada' } };
    expect((await callTool(client, 'create_entry', { ...draft, branch: 'main' })).content.error).toBe('unavailable');
    expect(await headOf('main')).toBe(before);
  });

  it('refuse a branch that nothing can be named, in words for the argument', async () => {
    const problem = 'must not contain spaces, control characters or any of ~ ^ : ? * [ \\';
    const created = await callTool(client, 'create_branch', { name: 'x\u0000' });
    expect(created.content).toMatchObject({ error: 'invalid_name', message: `name: ${problem}` });
    const draft = { collection: 'posts', slug: 'en/none', frontmatter: { title: 'None', author: 'ada' } };
    const written = await callTool(client, 'create_entry', { ...draft, branch: 'x\u0000' });
    expect(written.content).toMatchObject({ error: 'invalid_name', message: `branch: ${problem}` });
  });

  it('name an argument that is unknown or of another type', async () => {
    const at = { collection: 'posts', entry: 'en/alpha' };
    expect((await callTool(client, 'get_entry', { ...at, brnach: 'x' })).content.message).toMatch(
      /^brnach: is no argument of get_entry; it takes collection, entry, branch, offset, length/,
    );
    expect((await callTool(client, 'get_entry', { ...at, branch: 7 })).content.message).toMatch(/^branch: must be/);
    expect((await callTool(client, 'get_entry', { collection: 'posts' })).content.message).toBe('entry: is required');
    expect((await callTool(client, 'get_entry', { ...at, organization: 'other', project: 'site' })).isError).toBe(true);
    await expect(client.callTool({ name: 'drop_table', arguments: {} })).rejects.toThrow('Unknown tool: drop_table');
  });
});

describe('what a call reads', () => {
  const size = 1024 * 1024;
  const target = { collection: 'posts', entry: 'en/vast', branch: 'vast' };
  const media = { media: 'public/vast.txt', branch: 'vast' };
  beforeAll(async () => {
    await branch('vast');
    await save(
      await app.repository(),
      {
        'src/content/posts/en/vast.md': `---\ntitle: Vast\n---\n${'x'.repeat(size)}\n`,
        'public/vast.txt': 'x'.repeat(size),
      },
      { branch: 'vast' },
    );
  });
  afterEach(() => vi.restoreAllMocks());

  it('takes memory until the answer is sent, and is refused while there is none', async () => {
    const take = vi.spyOn(answerMemory, 'take');
    expect((await callTool(client, 'get_entry', target)).content.title).toBe('Vast');
    expect(take.mock.calls.map(([, bytes]) => bytes)).toEqual([size + 21]);
    take.mockRejectedValue(new DomainError('unavailable', 'no room'));
    expect(await callTool(client, 'get_entry', target)).toMatchObject({
      isError: true,
      text: expect.stringContaining('no room'),
    });
  });

  it('is nothing but a version where it waits for consent', async () => {
    const reads = [vi.spyOn(getFile, 'execute'), vi.spyOn(getEntry, 'execute'), vi.spyOn(answerMemory, 'take')];
    const entry = await callTool(client, 'delete_entry', target);
    expect(entry.text).toMatch(/would: delete posts\/en\/vast at [0-9a-f]{7} from vast/);
    const file = await callTool(client, 'delete_media', media);
    expect(file.text).toMatch(/would: delete public\/vast.txt at [0-9a-f]{7} from vast/);
    for (const read of reads) expect(read).not.toHaveBeenCalled();
  });
});

describe('consent', () => {
  const target = { collection: 'posts', entry: 'en/beta' };

  it('is requested by a phrase that has to be repeated, and holds for the version that was read', async () => {
    const name = await branch('phrases');
    const first = await callTool(client, 'delete_entry', { ...target, branch: name });
    expect(first.isError).toBe(true);
    const [, phrase] = /confirm: "(.*)"$/.exec(first.text) ?? [];
    expect(phrase).toMatch(/^delete posts\/en\/beta at [0-9a-f]{7} from phrases$/);
    await callTool(client, 'update_entry', { ...target, branch: name, frontmatter: { title: 'Newer' } });
    const stale = await callTool(client, 'delete_entry', { ...target, branch: name, confirm: phrase });
    expect(stale).toMatchObject({ isError: true, text: expect.stringContaining('Nothing was done') });
    const [, newer] = /confirm: "(.*)"$/.exec(stale.text) ?? [];
    expect(newer).not.toBe(phrase);
    const done = await callTool(client, 'delete_entry', { ...target, branch: name, confirm: newer });
    expect(done.content).toMatchObject({ deleted: true, path: 'src/content/posts/en/beta.md' });
  });

  it('is requested in a form where the client has forms', async () => {
    const name = await branch('forms');
    const requested: string[] = [];
    let answer: boolean | 'decline' = 'decline';
    const own = await connectClient(app, app.token, (message) => {
      requested.push(message);
      return answer;
    });
    const remove = () => callTool(own, 'delete_entry', { ...target, branch: name });
    expect((await remove()).text).toContain('The person did not agree');
    answer = false;
    expect((await remove()).text).toContain('The person did not agree');
    expect(await headOf(name)).toBe(await headOf('main'));
    answer = true;
    expect((await remove()).content).toMatchObject({ deleted: true });
    expect(requested).toHaveLength(3);
    // A phrase that a model has made up takes the place of no form.
    const at = { ...target, entry: 'en/alpha', branch: name };
    const { content: read } = await callTool(own, 'get_entry', at);
    answer = 'decline';
    const confirm = `delete posts/en/alpha at ${read.sha.slice(0, 7)} from ${name}`;
    expect((await callTool(own, 'delete_entry', { ...at, confirm })).text).toContain('The person did not agree');
    expect(requested[0]).toMatch(/^Delete an entry: delete posts\/en\/beta at [0-9a-f]{7} from forms\?$/);
    await own.close();
  });

  it('is wanted for merges, which name both ends', async () => {
    const [into, from] = [await branch('into'), await branch('from')];
    await callTool(client, 'update_entry', { ...target, branch: from, frontmatter: { title: 'Merged' } });
    const first = await callTool(client, 'merge_branches', { head: from, base: into });
    const [, phrase] = /confirm: "(.*)"$/.exec(first.text) ?? [];
    expect(phrase).toMatch(/^merge from at [0-9a-f]{7} into into at [0-9a-f]{7}$/);
    const missing = await callTool(client, 'merge_branches', { head: 'gone', base: into });
    expect(missing.content).toMatchObject({ error: 'not_found', message: 'Branch gone not found' });
    const merged = await callTool(client, 'merge_branches', { head: from, base: into, confirm: phrase });
    expect(merged.content).toMatchObject({ merged: true });
    expect(await rawOf('en/beta', into)).toContain('title: Merged');
  });
});

describe('all_operations', () => {
  it('adds the other operations of a project, but none that gives a secret away', async () => {
    const token = await app.makeToken(permissionNames, { mcp: { all_operations: true } });
    const own = await connectClient(app, token);
    const names = (await own.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['crawlers_run_crawler', 'workflows_create_workflow', 'studio_blame_file']),
    );
    expect(names.filter((name) => /secret_?$|reveal|rotate|token|member|editor|preview$/.test(name))).toEqual([]);
    expect((await callTool(own, 'crawlers_list_crawlers')).content).toMatchObject({ items: [], total_count: 0 });
    const refused = await callTool(own, 'studio_start_deployment', { environment_id: 1 });
    expect(refused.content).toMatchObject({ error: 'forbidden', message: expect.stringContaining('may not publish') });
    for (const [name, given] of [
      ['studio_update_repository', { default_branch: 'phrases', protected_branches: [] }],
      ['studio_update_environment', { environment: 1, published_deployment_id: 1 }],
      ['workflows_create_workflow', { name: 'Publish', definition: 'portico: workflow/1' }],
      ['workflows_run_workflow', { workflow: 'nightly' }],
      ['crawlers_run_crawler', { crawler: '1' }],
      ['crawlers_update_crawler', { crawler: '1', domain: 'example.org' }],
      ['crawlers_create_schedule', { crawler: '1', schedule_cron_string: '* * * * *' }],
      ['crawlers_update_schedule', { crawler: '1', crawler_schedule: '1', schedule_cron_string: '* * * * *' }],
      ['projects_delete_project', {}],
    ] as const)
      expect((await callTool(own, name, given)).content, name).toMatchObject({ error: 'forbidden' });
    expect((await callTool(own, 'studio_remove_remote')).text).toContain(': project acme/site"');
    const actions = [{ op: 'delete', collection: 'posts', slug: 'en/alpha' }];
    const onMain = await callTool(own, 'studio_commit_changes', { actions, branch: 'main' });
    expect(onMain.content.error).toBe('branch_protected');
    const requested = await callTool(own, 'studio_delete_branch', { name: 'phrases' });
    const [, phrase] = /confirm: "(.*)"$/.exec(requested.text) ?? [];
    expect(phrase).toBe('Delete a branch: name phrases, project acme/site');
    expect((await callTool(own, 'studio_delete_branch', { name: 'phrases', confirm: phrase })).isError).toBe(false);
    await own.close();
  });

  it('gives a model no secret that is shown once', async () => {
    const mcp = { all_operations: true, publish: true };
    const own = await connectClient(app, await app.makeToken(permissionNames, { mcp }));
    const { content } = await callTool(own, 'studio_create_environment', {
      name: 'Elsewhere',
      branch: 'main',
      provider: 'webhook',
      deploy_webhook_url: 'https://example.com/deploy',
      deploy: false,
    });
    expect(content).toMatchObject({ name: 'Elsewhere', deploy_hook_secret: null });
    await own.close();
  });

  it('waits for consent to what deletes within a larger change, and to what may delete', async () => {
    const own = await connectClient(app, await app.makeToken(permissionNames, { mcp: { all_operations: true } }));
    const at = await branch('deletions');
    const removal = { op: 'delete', collection: 'posts', slug: 'en/beta' };
    const change = { op: 'update', collection: 'posts', slug: 'en/alpha', frontmatter: { title: 'Kept' } };
    const commit = (actions: object[], confirm?: string) =>
      callTool(own, 'studio_commit_changes', { branch: at, actions, ...(confirm !== undefined && { confirm }) });
    const requested = await commit([change, removal, { op: 'delete_media', path: 'public/none.png' }]);
    expect(requested.text).toMatch(/^Nothing was done/);
    expect(requested.text).toContain(`: delete posts/en/beta, public/none.png, branch ${at}, project acme/site"`);
    expect(await rawOf('en/beta', at)).toContain('title:');
    const [, phrase] = /confirm: "(.*)"$/.exec((await commit([removal])).text) ?? [];
    expect((await commit([removal, { ...removal, slug: 'en/alpha' }], phrase)).text).toMatch(/^Nothing was done/);
    expect((await commit([removal], phrase)).content).toMatchObject({ unchanged: false });
    expect((await commit([change])).content).toMatchObject({ unchanged: false });
    const revert = await callTool(own, 'studio_revert_entry', {
      branch: at,
      collection: 'posts',
      slug: 'en/alpha',
      commit: '1'.repeat(40),
    });
    expect(revert.text).toMatch(/^Nothing was done/);
    const settle = (...resolutions: object[]) => callTool(own, 'studio_sync_repository', { branch: at, resolutions });
    const onlyHere = { base: null, current: '1'.repeat(40), incoming: null };
    const taken = await settle(
      { path: 'here.md', stages: onlyHere, take: 'incoming' },
      { path: 'kept.md', stages: onlyHere, take: 'current' },
      { path: 'nowhere.md', stages: { ...onlyHere, current: null }, delete: true },
      { path: 'unseen.md', take: 'current' },
    );
    expect(taken.text).toContain(': delete here.md, unseen.md, branch');
    const kept = await settle({ path: 'kept.md', stages: onlyHere, take: 'current' });
    expect(kept.text).not.toMatch(/^Nothing was done/);
    const sync = await callTool(own, 'studio_sync_repository', { branch: at });
    expect(sync.text).not.toMatch(/^Nothing was done/);
    const many = Array.from({ length: 90 }, (_, number) => ({ ...removal, slug: `gone-${number}-${'x'.repeat(60)}` }));
    const [, long = ''] = /confirm: "(.*)"$/.exec((await commit(many)).text) ?? [];
    expect(long).toMatch(/… \(90 in all, [0-9a-f]{16}\), branch /);
    expect(long.length).toBeLessThan(2_000);
    expect((await commit(many.slice(1), long)).text).toMatch(/^Nothing was done/);
    const { tools } = await own.listTools();
    for (const name of [
      'studio_commit_changes',
      'studio_revert_entry',
      'studio_revert_media',
      'studio_sync_repository',
    ])
      expect(tools.find((tool) => tool.name === name)?.annotations?.destructiveHint, name).toBe(true);
    await own.close();
  });

  it('is off unless a token has it', async () => {
    await expect(client.callTool({ name: 'crawlers_list_crawlers', arguments: {} })).rejects.toThrow('Unknown tool');
    const own = await connectClient(app, readOnly);
    expect((await own.listTools()).tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
    await own.close();
  });
});

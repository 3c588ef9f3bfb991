import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { permissionNames } from '../../src/kernel/actor.ts';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { connectClient } from '../support/mcp-client.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
let client: Client;
beforeAll(async () => {
  await seed(app, siteFiles);
  client = await connectClient(app, app.token);
});
afterAll(async () => {
  await client?.close();
});

const template = 'portico://{organization}/{project}/{collection}/{+slug}';
const textIn = ([message]: { content: unknown }[]) => (message?.content as { text?: string } | undefined)?.text;
const textOf = async (uri: string) =>
  (await client.readResource({ uri })).contents[0] as { text: string; mimeType: string };

describe('resources', () => {
  it('are the collections of all projects, and their entries by a template', async () => {
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(['portico://acme/site/authors', 'portico://acme/site/posts']);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([template]);
    expect(JSON.parse((await textOf('portico://acme/site/posts')).text)).toMatchObject({ total_count: 4 });
    expect(await textOf('portico://acme/site/posts/en/alpha')).toMatchObject({
      mimeType: 'text/markdown',
      text: siteFiles['src/content/posts/en/alpha.md'],
    });
  });

  it('refuse what is not there, and what is no address of theirs', async () => {
    for (const [uri, message] of [
      ['portico://acme/site/posts/none', 'posts has no entry none'],
      ['portico://acme/none/posts', 'not found'],
      ['portico://other/site/posts', 'Organisation not found'],
      ['portico://acme/site', 'must be portico://'],
      ['portico://acme/site/posts//', 'must be portico://'],
      ['portico://acme/site/posts/%ff', 'must be portico://'],
      ['file:///etc/passwd', 'must be portico://'],
    ] as const)
      await expect(client.readResource({ uri }), uri).rejects.toThrow(new RegExp(message, 'i'));
  });

  it('complete each part of an address', async () => {
    const complete = async (name: string, value: string, known: Record<string, string> = {}) =>
      (
        await client.complete({
          ref: { type: 'ref/resource', uri: template },
          argument: { name, value },
          context: { arguments: known },
        })
      ).completion.values;
    expect(await complete('organization', '')).toEqual(['acme']);
    expect(await complete('project', 's')).toEqual(['site']);
    expect(await complete('project', 'x')).toEqual([]);
    expect(await complete('collection', 'p', { organization: 'acme', project: 'site' })).toEqual(['posts']);
    const at = { organization: 'acme', project: 'site', collection: 'posts' };
    expect(await complete('slug', 'en/', at)).toEqual(['en/alpha', 'en/beta', 'en/deep/gamma']);
    expect(await complete('slug', 'en/', { ...at, collection: 'none' })).toEqual([]);
    // Of many entries, those that begin so are not among the first.
    const many = Array.from({ length: 101 }, (_, number) => `src/content/posts/aa/${100 + number}.md`);
    await seed(app, Object.fromEntries(many.map((path) => [path, '---\ntitle: One of many\n---\n'])));
    expect(await complete('slug', 'en/', at)).toEqual(['en/alpha', 'en/beta', 'en/deep/gamma']);
    expect(await complete('slug', 'aa/', at)).toHaveLength(100);
  });
});

describe('prompts', () => {
  it('are the ready-made tasks, filled in', async () => {
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual([
      'improve_text',
      'write_description',
      'translate_entry',
      'write_alt_texts',
      'mend_broken_links',
      'make_entries',
      'explain_deployment',
    ]);
    const { messages } = await client.getPrompt({
      name: 'write_description',
      arguments: { collection: 'posts', entry: 'en/alpha' },
    });
    expect(textIn(messages)).toMatch(/^Write a description for the entry posts\/en\/alpha\./);
    await expect(client.getPrompt({ name: 'write_description', arguments: { collection: 'posts' } })).rejects.toThrow(
      'entry: is required',
    );
    await expect(client.getPrompt({ name: 'none' })).rejects.toThrow('Unknown prompt: none');
  });

  it('bring along what they are about, as far as the caller may read it', async () => {
    const textFor = async (from: Client, name: string, given: Record<string, string>) =>
      textIn((await from.getPrompt({ name, arguments: given })).messages);
    expect(await textFor(client, 'mend_broken_links', {})).toContain('Known broken links: not given');
    expect(await textFor(client, 'mend_broken_links', { links: '/gone' })).toContain('Known broken links: /gone');
    expect(await textFor(client, 'explain_deployment', { deployment: '4711' })).toContain('not available: Deployment');
    const other = await connectClient(app, await app.makeToken(['browse_studio']));
    expect(await textFor(other, 'mend_broken_links', {})).toContain(
      'not available: Missing permission: browse_crawlers',
    );
    await other.close();
  });

  it('are worded by the default branch of a project alone', async () => {
    const git = await app.repository();
    const write = (branch: string, text: string) =>
      git.write({
        branch,
        author: { name: 'A', email: 'a@portico.test' },
        plan: async () => ({
          changes: [{ path: '.portico/prompts/improve_text.md', content: Buffer.from(text) }],
          message: 'Word a prompt',
          result: null,
        }),
      });
    await app.ask('POST', `${studio}/branches`, { body: { name: 'draft' } });
    await write('draft', 'Of a draft {{entry}}');
    const wording = async () => {
      const given = { collection: 'posts', entry: '{{collection}}' };
      const { messages } = await client.getPrompt({ name: 'improve_text', arguments: given });
      return textIn(messages);
    };
    expect(await wording()).toMatch(/^Improve the text of the entry posts/);
    await write('main', 'As we write: {{collection}} {{entry}} {{ unknown }}');
    // What is filled in is not filled in again.
    expect(await wording()).toBe('As we write: posts {{collection}} {{ unknown }}');
  });

  it('can be worded anew by who manages the site alone', async () => {
    const token = await app.makeToken(permissionNames.filter((name) => name !== 'manage_studio'));
    const body = {
      actions: [{ op: 'write_file', path: '.portico/prompts/improve_text.md', content: 'Mine' }],
      message: 'x',
    };
    const { status } = await app.ask('POST', `${studio}/changes`, { token, body });
    expect(status).toBe(403);
  });
});

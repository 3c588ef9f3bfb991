import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashToken } from '../../src/domain/identity/token-text.ts';
import { createProject, deleteProject } from '../../src/domain/projects/projects.operations.ts';
import { permissionNames } from '../../src/kernel/actor.ts';
import { acme, seed, startTestApp, studio, type TestApp } from '../support/app.ts';
import { commitOf, emptyTreeEntry, oidOf, pack, pushOf } from '../support/packs.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
  await seed(app, { 'content/posts/a.md': '---\ntitle: A\n---\n', 'public/b.txt': 'b' });
});
afterAll(() => app?.stop());

interface Slow {
  path: string;
  type: string;
  body: Buffer;
}

/** Sends the first half of a body, and the other when `between` is done. @returns the answer, as text, and its status */
async function sendInHalves({ path, type, body }: Slow, between: (token: string) => Promise<unknown>) {
  const token = await app.makeToken(permissionNames);
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': type,
    accept: 'application/json, text/event-stream',
  };
  const sent = request(`${app.url}${path}`, { method: 'POST', headers });
  const answered = once(sent, 'response');
  sent.write(body.subarray(0, body.length / 2));
  await expect.poll(() => app.services.grants.isAccepted(hashToken(token))).toBe(true);
  await between(token);
  sent.end(body.subarray(body.length / 2));
  const [response] = await answered;
  return { status: response.statusCode, text: await text(response) };
}

async function revoke(token: string): Promise<void> {
  const { body } = await app.ask('GET', `${acme}/tokens?per_page=100`);
  const { id } = body.find(({ last4 }: { last4: string }) => token.endsWith(last4));
  expect((await app.ask('DELETE', `${acme}/tokens/${id}`)).status).toBe(200);
}

const json = (path: string, body: object): Slow => ({
  path,
  type: 'application/json',
  body: Buffer.from(JSON.stringify(body)),
});

const multipart = (name: string): Slow => ({
  path: `${studio}/media`,
  type: 'multipart/form-data; boundary=b',
  body: Buffer.from(
    `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: text/plain\r\n\r\n${'x'.repeat(1000)}\r\n--b--\r\n`,
  ),
});

const createEntry = `mutation ($input: CreateEntryInput!) {
  createEntry(organization: "acme", project: "site", input: $input) { slug }
}`;

const commit = commitOf();
const oid = oidOf('commit', commit.content);
const push = (branch: string): Slow => ({
  path: '/git/acme/site.git/git-receive-pack',
  type: 'application/x-git-receive-pack-request',
  body: pushOf(oid, [`refs/heads/${branch}`], pack([commit, emptyTreeEntry])),
});

const requests: [string, (name: string) => Slow][] = [
  ['REST', (slug) => json(`${studio}/collections/posts`, { slug, frontmatter: { title: 'x' }, body: 'x' })],
  ['an upload', (name) => multipart(`${name}.txt`)],
  [
    'GraphQL',
    (slug) =>
      json('/graphql', {
        query: createEntry,
        variables: { input: { collection: 'posts', slug, frontmatter: { title: 'x' }, body: 'x' } },
      }),
  ],
  ['a push', push],
];

describe('a body that takes its time', () => {
  it.each(requests)('is written for a token that lasts: %s', async (what, make) => {
    const answer = await sendInHalves(make(`kept-${what.replace(/\W/g, '-')}`), async () => {});
    expect(answer.status).toBeLessThan(300);
    expect(answer.text).toMatch(/kept-/);
  });

  it.each(requests)('is not written for a token that was revoked meanwhile: %s', async (what, make) => {
    const git = await app.repository();
    const refs = async () => (await git.refsBelow('refs/heads')).map(({ name, oid }) => `${name} ${oid}`);
    const before = await refs();
    const answer = await sendInHalves(make(`revoked-${what.replace(/\W/g, '-')}`), revoke);
    expect(answer.text).toMatch(/[Uu]nauthenticated/);
    expect(await refs()).toEqual(before);
  });

  it('is pushed under the settings that hold then', async () => {
    const protect = () =>
      app.ask('PATCH', `${studio}/repository`, { body: { protected_branches: ['late'], require_pull: true } });
    const { text } = await sendInHalves(push('late'), async () => expect((await protect()).status).toBe(200));
    expect(text).toMatch(/late is protected/);
  });

  it('is not pushed into a project that is deleted, nor into one that took its name', async () => {
    const { text } = await sendInHalves(push('deleted'), async () => {
      await app.run(deleteProject, { organization: 'acme', project: 'site' });
      await app.run(createProject, { organization: 'acme', name: 'Site', machine_name: 'site' });
    });
    expect(text).toMatch(/Project not found/);
    for (const uuid of await app.services.git.list().then(({ ids }) => ids))
      expect(await app.services.git.open(uuid).refsBelow('refs/heads/deleted')).toEqual([]);
  });
});

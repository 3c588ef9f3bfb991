import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';

const app = shared(startTestApp);
const posts = `${studio}/collections/posts`;

beforeAll(() => seed(app, { 'content/posts/a.md': '---\ntitle: A\n---\n\nHello\n' }));

describe('nothing is dropped without a word', () => {
  it('refuses a key that would be lost where the names are not content', async () => {
    const answer = await app.ask('PUT', `${posts}/a`, {
      body: '{"on_conflict":"merge","resolutions":[{"path":"a","fields":{"__proto__":{"take":"base"}}}]}',
    });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.message).toBe('resolutions.0.fields.__proto__: is not a name that can be used');
  });

  it('says what is wrong with a body that is not gzip, and reads one that is', async () => {
    const send = (body: Uint8Array) =>
      fetch(`${app.url}${posts}`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${app.token}`,
          'Content-Type': 'application/json',
          'Content-Encoding': 'gzip',
        },
        body: new Uint8Array(body),
      });
    const broken = await send(Buffer.from('zzzz'));
    expect([broken.status, ((await broken.json()) as { message: string }).message]).toEqual([
      400,
      'body: is not valid gzip',
    ]);
    const whole = gzipSync('{"slug":"zipped","frontmatter":{"title":"Z"},"body":"x"}');
    expect(gunzipSync(whole).length).toBeGreaterThan(0);
    expect((await send(whole)).status).toBe(201);
  });
});

describe('the log', () => {
  it('says who ran which operation in the line of the request', async () => {
    await app.ask('GET', posts, { headers: { 'X-Request-Id': 'find-me' } });
    const line = app.log
      .map((text) => JSON.parse(text))
      .find((entry) => entry.msg === 'request' && entry.request_id === 'find-me');
    expect(line).toMatchObject({
      operation: 'studio.listEntries',
      actor: expect.stringMatching(/^token:\d+$/),
      organization: 'acme',
      status: 200,
    });
  });
});

describe('versions', () => {
  it('every read has an ETag, and 304 for those who hold it', async () => {
    const paths = [acme, `${acme}/projects`, `${acme}/tokens`, `${studio}/branches`, `${studio}/repository`, posts];
    for (const path of paths) {
      const etag = (await app.ask('GET', path)).headers.get('etag') ?? '';
      expect([path, etag]).toEqual([path, expect.stringMatching(/^(W\/)?"[^"]+"$/)]);
      expect([path, (await app.ask('GET', path, { headers: { 'If-None-Match': etag } })).status]).toEqual([path, 304]);
    }
  });
});

describe('audit rows', () => {
  const newest = async (action: string) => (await app.ask('GET', `${acme}/audit?action=${action}`)).body[0];

  it('name the commit and the subject, and hold no content', async () => {
    const made = await app.ask('POST', posts, { body: { slug: 'logged', frontmatter: { title: 'T' }, body: 'z' } });
    const row = await newest('studio.createEntry');
    expect(row).toMatchObject({ subject_type: 'entry', subject_id: 'posts/logged', outcome: 'ok' });
    expect(row.changes).toMatchObject({ body: null, commit: made.body.commit.sha });
  });

  it('name the subject of what was denied', async () => {
    const token = await app.makeToken(['browse_studio']);
    await app.ask('POST', posts, { token, body: { slug: 'denied', frontmatter: {}, body: '' } });
    expect(await newest('studio.createEntry')).toMatchObject({ outcome: 'denied', subject_id: 'posts/denied' });
  });

  it('name the project and the organisation that changed', async () => {
    await app.ask('PATCH', `${acme}/projects/site`, { body: { name: 'Site 2' } });
    expect(await newest('projects.updateProject')).toMatchObject({ subject_id: 'site' });
    await app.ask('PATCH', acme, { body: { name: 'Acme 2' } });
    expect(await newest('organizations.updateOrganization')).toMatchObject({ subject_id: 'acme' });
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import { Member } from '../../src/domain/organizations/member.entity.ts';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { goodPassword, makePerson, openBrowser } from '../support/browser.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, siteFiles));

const audit = `${acme}/audit`;
const list = async (query: string) => (await app.ask('GET', `${audit}?per_page=100&${query}`)).body;

describe('200', () => {
  it('records who did what to what, from where, and how it ended', async () => {
    const { body, headers } = await app.ask('POST', `${studio}/collections/posts`, {
      body: { slug: 'en/audited', frontmatter: { title: 'A', author: 'ada' }, body: 'Secret text', message: 'Add it' },
      headers: { 'X-Request-Id': 'audit-1' },
    });
    expect(body.slug).toBe('en/audited');
    const [row] = await list('action=studio.createEntry');
    expect(row).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      at: expect.stringMatching(/\.\d{3}Z$/),
      project: 'site',
      actor: expect.stringMatching(/^token:\d+$/),
      actor_name: 'Test',
      address: '127.0.0.1',
      action: 'studio.createEntry',
      subject_type: 'entry',
      subject_id: 'posts/en/audited',
      outcome: 'ok',
      changes: expect.objectContaining({ slug: 'en/audited', message: 'Add it', frontmatter: null }),
      request_id: headers.get('x-request-id'),
    });
  });

  it('is given as lines of JSON to those who ask for them', async () => {
    await app.ask('PATCH', acme, { body: { name: 'Acme' } });
    const query = `${audit}?per_page=2&action=organizations.updateOrganization`;
    const ask = (accept: string) => app.ask('GET', query, { headers: { Accept: accept } });
    const [plain, lines] = [await ask('application/json'), await ask('application/x-ndjson')];
    expect(lines.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
    expect(lines.body.endsWith('}\n')).toBe(true);
    expect(lines.body.trimEnd().split('\n').map(JSON.parse)).toEqual(plain.body);
    for (const { headers } of [plain, lines]) {
      expect(headers.get('x-total-count')).toBe('1');
      expect(headers.get('vary')).toContain('Accept');
      expect(headers.get('link')).toContain('rel="last"');
    }
    expect((await ask('*/*')).headers.get('content-type')).toMatch(/^application\/json/);
  });

  it('keeps what was denied and what failed', async () => {
    const token = await app.makeToken(['browse_studio']);
    await app.ask('DELETE', `${studio}/collections/posts/en/beta`, { token });
    await app.ask('DELETE', `${studio}/collections/posts/en/none`);
    const rows = await list('action=studio.deleteEntry');
    expect(
      rows.map(({ outcome, subject_id }: { outcome: string; subject_id: string }) => [outcome, subject_id]),
    ).toEqual([
      ['failed', 'posts/en/none'],
      ['denied', expect.anything()],
    ]);
  });

  it('never holds a secret', async () => {
    const { body } = await app.ask('POST', `${acme}/tokens`, { body: { name: 'Secret', preset: 'readonly' } });
    await app.ask('POST', `${acme}/projects`, {
      body: { name: 'I', import_url: 'https://user:hunter2@example.org/a.git' },
    });
    const [made] = await list('action=identity.createToken');
    expect(made).toMatchObject({ subject_type: 'token', subject_id: String(body.id), outcome: 'ok' });
    const text = JSON.stringify(await list(''));
    expect(text).not.toContain(body.token);
    expect(text).not.toContain('hunter2');
  });

  it('shows no token that was pasted where it does not belong', async () => {
    const token = await app.makeToken(['browse_studio']);
    await app.ask('POST', `${studio}/branches`, { body: { name: token, from: 'main', title: `Use ${token}` } });
    const [row] = await list('action=studio.createBranch');
    expect(row).toMatchObject({ subject_id: 'ptc_[redacted]', changes: { title: 'Use ptc_[redacted]' } });
    expect(JSON.stringify(row)).not.toContain(token);
  });

  it('writes no row for a read', async () => {
    const before = (await list('')).length;
    await app.ask('GET', acme);
    await app.ask('GET', `${studio}/collections`);
    expect(await list('')).toHaveLength(before);
  });

  it('is newest first, filtered by actor, action, subject and time', async () => {
    const all = await list('');
    const ids = all.map(({ id }: { id: string }) => id);
    expect(ids).toEqual([...ids].sort().reverse());
    const [{ actor, at }] = all;
    for (const row of await list(`actor=${actor}`)) expect(row.actor).toBe(actor);
    for (const row of await list('subject=entry')) expect(row.subject_type).toBe('entry');
    expect((await list('subject=entry:posts/en/none'))[0]).toMatchObject({ subject_id: 'posts/en/none' });
    expect(await list('actor=nobody')).toEqual([]);
    expect((await list(`since=${at}`)).length).toBeGreaterThan(0);
    for (const row of await list(`until=${at}`)) expect(row.at < at).toBe(true);
    expect(await list('since=9999-12-31T23:59:59Z')).toEqual([]);
    expect(await list('until=0001-01-01T00:00:00Z')).toEqual([]);
  });

  it('shows sign-ins, refused ones and sign-outs of its members since they joined, and of no one else', async () => {
    const { orm, clock } = app.services;
    const id = await makePerson(app, { email: 'eve@example.org', role: 'editor' });
    await makePerson(app, { email: 'stranger@example.org' });
    const since = clock.now().toISOString();
    const signIn = `mutation($input: SignInInput!) { signIn(input: $input) { user { id } } }`;
    for (const email of ['eve@example.org', 'stranger@example.org']) {
      const browser = openBrowser(app);
      await browser.graphql(signIn, { input: { email, password: 'not that one' } });
      await browser.graphql(signIn, { input: { email, password: goodPassword } });
      await browser.graphql('mutation { signOut { message } }');
    }
    const rows = (await list(`since=${since}`)).filter(({ action }: { action: string }) => /\.sign/.test(action));
    const seen = rows.map(({ action, actor, subject_id, outcome }: Record<string, string>) => [
      ...[action, actor, subject_id, outcome],
    ]);
    expect(seen).toEqual([
      ['identity.signOut', `user:${id}`, null, 'ok'],
      ['identity.signIn', 'anonymous', String(id), 'ok'],
      ['identity.signIn', 'anonymous', 'eve@example.org', 'denied'],
    ]);
    expect(await list(`action=identity.signIn&subject=user:${id}`)).toHaveLength(1);
    const em = orm.em.fork();
    await em.nativeUpdate(Member, { user_id: id }, { joined_at: new Date(clock.now().getTime() + 60_000) });
    expect(await list('action=identity.signIn')).toEqual([]);
  });

  it('shows an organisation its own rows only', async () => {
    await app.run(createOrganization, { name: 'Other', machine_name: 'other' });
    const token = await app.makeToken(['manage_organization'], { organization: 'other' });
    const { body } = await app.ask('GET', '/api/v2/organizations/other/audit', { token });
    expect(body.map(({ action }: { action: string }) => action)).toEqual(['identity.createToken']);
  });
});

describe('400', () => {
  it.each([
    ['since=yesterday', /^since: /],
    ['until=2026-01-01', /^until: /],
    ['since=2026-13-01T00:00:00Z', /^since: /],
    ['since=0000-01-01T00:00:00Z', /^since: /],
    ['actor=%00', 'actor: must not contain control characters'],
    ['action=a%00b', 'action: must not contain control characters'],
    ['subject=entry:%00', 'subject: must not contain control characters'],
    [`actor=${'x'.repeat(201)}`, 'actor: must be at most 200 characters'],
  ])('?%s', async (query, message) => {
    expectRefusal(await app.ask('GET', `${audit}?${query}`), 400, 'invalid_request', message);
  });
});

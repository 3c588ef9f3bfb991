import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { type Permission, permissionNames } from '../../src/kernel/actor.ts';
import { type Answer, studio as acmeStudio, seed, shared, startTestApp } from '../support/app.ts';
import { commitTo } from '../support/conflict-site.ts';
import { askRaw } from '../support/raw-http.ts';
import { siteFiles } from '../support/site-files.ts';

/** A row of the interface's document, written down here and not read from the code. */
interface Documented {
  method: string;
  path: string;
  permission: Permission;
  status: number;
  body?: () => unknown;
}

const studio = '/projects/{project}/studio';
const entry = () => ({
  slug: `en/made-${randomUUID()}`,
  frontmatter: { title: 'Made', author: 'ada' },
  body: 'Text\n',
});
const read = (path: string): Documented => ({ method: 'GET', path, permission: 'browse_studio', status: 200 });

const documented: Documented[] = [
  { method: 'GET', path: '', permission: 'browse_organization', status: 200 },
  read(`${studio}/schema`),
  read(`${studio}/schema/posts`),
  { method: 'POST', path: `${studio}/schema/refresh`, permission: 'manage_studio', status: 200, body: () => ({}) },
  read(`${studio}/collections`),
  read(`${studio}/collections/posts`),
  { method: 'POST', path: `${studio}/collections/posts`, permission: 'edit_studio', status: 201, body: entry },
  read(`${studio}/collections/posts/en/alpha`),
  {
    method: 'PUT',
    path: `${studio}/collections/posts/en/beta`,
    permission: 'edit_studio',
    status: 200,
    body: () => ({ frontmatter: { title: `Beta ${randomUUID()}` } }),
  },
  { method: 'DELETE', path: `${studio}/collections/posts/en/doomed`, permission: 'delete_studio', status: 200 },
  read(`${studio}/branches`),
  {
    method: 'POST',
    path: `${studio}/branches`,
    permission: 'edit_studio',
    status: 201,
    body: () => ({ name: `b-${randomUUID()}` }),
  },
  {
    method: 'POST',
    path: `${studio}/merge`,
    permission: 'edit_studio',
    status: 200,
    body: () => ({ head: 'main' }),
  },
  read(`${studio}/commits`),
  read(`${studio}/compare?base=main&head=main`),
  read(`${studio}/pulls`),
  {
    method: 'POST',
    path: `${studio}/pulls`,
    permission: 'edit_studio',
    status: 201,
    body: () => ({ title: 'Made', head: 'ahead-2' }),
  },
  read(`${studio}/pulls/1`),
  {
    method: 'POST',
    path: `${studio}/pulls/1/merge`,
    permission: 'edit_studio',
    status: 200,
    body: () => ({}),
  },
  read(`${studio}/filetree`),
  read(`${studio}/file?path=README.md`),
  {
    method: 'POST',
    path: `${studio}/route-patterns/detect`,
    permission: 'edit_studio',
    status: 200,
    body: () => ({ save: true }),
  },
  {
    method: 'PATCH',
    path: '/projects/{project}/crawlers/{crawler}',
    permission: 'edit_crawlers',
    status: 200,
    body: () => ({ domain: 'docs.example', name: 'Docs' }),
  },
  {
    method: 'PATCH',
    path: '/projects/{project}/crawlers/{crawler}/schedules/{crawler_schedule}',
    permission: 'edit_crawlers',
    status: 200,
    body: () => ({ name: 'Mornings', schedule_cron_string: '30 6 * * 1-5' }),
  },
];

const base = '/api/v2/organizations';
const app = shared(startTestApp);
/** What path parameters of rows stand for. */
let places: Record<string, string> = {};
let strange: string;
let elsewhere: string;
const single = new Map<Permission, string>();

beforeAll(async () => {
  await app.run(createOrganization, { name: 'Other', machine_name: 'other' });
  await app.run(createProject, { organization: 'acme', name: 'Second', machine_name: 'second' });
  await seed(app, { ...siteFiles, 'src/content/posts/en/doomed.md': '---\ntitle: Doomed\nauthor: ada\n---\n' });
  // Pull request 1 is there to be read and merged; the second branch has none yet.
  for (const name of ['ahead-1', 'ahead-2']) {
    await app.ask('POST', `${acmeStudio}/branches`, { body: { name } });
    await commitTo(app, name, { [`${name}.css`]: name });
  }
  await app.ask('POST', `${acmeStudio}/pulls`, { body: { title: 'First', head: 'ahead-1' } });
  const crawlers = `${base}/acme/projects/site/crawlers`;
  const { body: crawler } = await app.ask('POST', crawlers, { body: { domain: 'docs.example' } });
  const schedule = await app.ask('POST', `${crawlers}/${crawler.uuid}/schedules`, {
    body: { schedule_cron_string: '0 0 * * *' },
  });
  places = { crawler: crawler.uuid, crawler_schedule: String(schedule.body.id) };
  strange = await app.makeToken(permissionNames, { organization: 'other' });
  elsewhere = await app.makeToken(permissionNames, { projects: ['second'] });
  for (const name of permissionNames) single.set(name, await app.makeToken([name]));
});

interface Variation {
  token: string | null;
  organization?: string;
  project?: string;
}

function ask(row: Documented, { token, organization = 'acme', project = 'site' }: Variation): Promise<Answer> {
  const named = Object.entries({ project, ...places }).reduce(
    (at, [name, value]) => at.replace(`{${name}}`, value),
    row.path,
  );
  const path = `${base}/${organization}${named}`;
  return askRaw(app, row.method, path, { token, ...(row.body && { body: JSON.stringify(row.body()) }) });
}

/** The whole of a refusal, so that nothing more leaves than is documented. */
function expectRefusal({ status, headers, body }: Answer, wanted: number, code: string, message: unknown): void {
  expect(body).toEqual({ message, error: true, code, request_id: headers.get('x-request-id') });
  expect(status).toBe(wanted);
  expect(headers.get('content-type')).toMatch(/^application\/json/);
}

describe.each(documented)('$method {organization}$path', (row) => {
  it(`needs ${row.permission} and nothing else`, async () => {
    const { status, body } = await ask(row, { token: single.get(row.permission) ?? '' });
    expect({ status, body }).toMatchObject({ status: row.status });
  });

  it('is refused to every other single permission', async () => {
    for (const [name, token] of single) {
      if (name === row.permission) continue;
      expectRefusal(await ask(row, { token }), 403, 'forbidden', `Missing permission: ${row.permission}`);
    }
  });

  it('is refused to all other permissions together', async () => {
    const token = await app.makeToken(permissionNames.filter((name) => name !== row.permission));
    expectRefusal(await ask(row, { token }), 403, 'forbidden', `Missing permission: ${row.permission}`);
  });

  it.each([
    ['without a token', null],
    ['with a token that was never made', `ptc_abcdefghijklmnopqrstuvwxyz01233PHGXn`],
    ['with a text that is no token', 'secret'],
  ])('401 %s', async (_what, token) => {
    const answer = await ask(row, { token });
    expectRefusal(answer, 401, 'unauthenticated', 'Unauthenticated');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('403 to a token of another organisation', async () => {
    expectRefusal(await ask(row, { token: strange }), 403, 'forbidden', expect.stringContaining('organisation'));
  });

  it('404 for an unknown organisation', async () => {
    const answer = await ask(row, { token: app.token, organization: 'nobody' });
    expectRefusal(answer, 404, 'not_found', 'Organisation not found');
  });

  it.each(['Acme', 'a_b', '-a', 'a-', 'a%20b', 'a'.repeat(64), '%00', '%2e%2e', '%F0%9F%92%A9'])(
    '400 for %s, which no organisation can be called',
    async (organization) => {
      const { status, body } = await ask(row, { token: app.token, organization });
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: true, code: 'invalid_request', message: /^organization: / });
    },
  );

  if (!row.path.includes('{project}')) return;

  it('403 to a token confined to another project', async () => {
    expectRefusal(await ask(row, { token: elsewhere }), 403, 'forbidden', expect.stringContaining('project'));
  });

  it.each(['nothing', 'Site', '%2e%2e', '%00'])('404 for project %s', async (project) => {
    expectRefusal(await ask(row, { token: app.token, project }), 404, 'not_found', 'Project not found');
  });
});

it('reveals nothing of the projects of a foreign organisation', async () => {
  const row = read(`${studio}/schema`);
  const [there, not] = [await ask(row, { token: strange }), await ask(row, { token: strange, project: 'nothing' })];
  expect({ ...there.body, request_id: '' }).toEqual({ ...not.body, request_id: '' });
});

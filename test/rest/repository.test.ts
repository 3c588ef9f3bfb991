import { beforeAll, describe, expect, it } from 'vitest';
import { importJob } from '../../src/domain/studio/repository/import-repository.ts';
import { seed, shared, startTestApp } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';

const app = shared(startTestApp);
/** What was put into the queue, instead of a worker that would go and fetch it. */
const sent: unknown[] = [];
beforeAll(async () => {
  app.services.jobs.send = async (kind, payload) => void sent.push([kind.name, payload]);
  for (const name of ['Fresh', 'Full', 'Begun']) await app.ask('POST', `${base}`, { body: { name } });
  await seed(app, { 'a.md': 'a\n' }, 'full');
});

const base = '/api/v2/organizations/acme/projects';
const repository = (project: string) => `${base}/${project}/studio/repository`;
const start = (project: string, url: unknown) => app.ask('POST', `${repository(project)}/import`, { body: { url } });
const url = 'https://git.example.org/site.git';

describe('200', () => {
  it('has the clone URL and the size', async () => {
    const { status, body } = await app.ask('GET', repository('full'));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      mode: 'hosted',
      default_branch: 'main',
      size: expect.any(Number),
      object_format: 'sha1',
      clone_url: 'http://portico.test/git/acme/full.git',
      import: null,
    });
    expect(body.size).toBeGreaterThan(0);
  });
});

describe('202', () => {
  it('begins an import and shows its progress', async () => {
    const { status, body } = await start('fresh', url);
    const queued = {
      state: 'queued',
      url,
      phase: null,
      received_objects: 0,
      total_objects: 0,
      message: null,
      started_at: null,
      finished_at: null,
    };
    expect({ status, body }).toMatchObject({ status: 202, body: { import: queued } });
    expect((await app.ask('GET', repository('fresh'))).body.import).toEqual(queued);
    expect(sent.at(-1)).toEqual([
      importJob.name,
      { project_id: expect.any(Number), attempt: 1, url, credentials: null },
    ]);
  });

  it('begins with the project', async () => {
    const { status } = await app.ask('POST', base, { body: { name: 'Imported', import_url: url } });
    expect(status).toBe(201);
    expect((await app.ask('GET', repository('imported'))).body.import).toMatchObject({ state: 'queued', url });
  });
});

describe('400', () => {
  it.each([
    [undefined, 'url: is required'],
    [1, 'url: must be a string'],
    ['http://example.org/a.git', 'url: must be https://host/path or ssh://account@host/path'],
    ['ssh://example.org/a.git', 'auth.kind: must be ssh_key for an ssh address'],
    ['git@example.org:a.git', 'url: must be https://host/path or ssh://account@host/path'],
    ['file:///etc/passwd', 'url: must be https://host/path or ssh://account@host/path'],
    ['/etc', 'url: must be https://host/path or ssh://account@host/path'],
    ['../other', 'url: must be https://host/path or ssh://account@host/path'],
    ['-c core.x=y', 'url: must be https://host/path or ssh://account@host/path'],
    ['ext::sh -c id', 'url: must be https://host/path or ssh://account@host/path'],
    ['', 'url: must be https://host/path or ssh://account@host/path'],
    ['https://user@example.org/a.git', 'url: must not contain a user name; give it in auth'],
    ['https://u:p@example.org/a.git', 'url: must not contain a password'],
    [`https://example.org/${'a'.repeat(2000)}`, 'url: must be at most 2000 characters'],
  ])('%j', async (given, message) => {
    const before = sent.length;
    expectRefusal(await start('begun', given), 400, 'invalid_request', message);
    expect(sent).toHaveLength(before);
  });
});

describe('409', () => {
  it('a repository with commits', async () => {
    expectRefusal(await start('full', url), 409, 'already_exists', /has commits/);
  });

  it('an import that is under way', async () => {
    expect((await start('begun', url)).status).toBe(202);
    expectRefusal(await start('begun', url), 409, 'busy', /under way/);
  });
});

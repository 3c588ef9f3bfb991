import { beforeAll, describe, expect, it } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { makeBranch } from '../support/conflict-site.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const faulty = '---\ntitle: Old\nrating: 99\nauthor: ada\n---\n\nBody.\n';

const app = shared(startTestApp);
beforeAll(() => seed(app, { ...siteFiles, 'src/content/posts/en/faulty.md': faulty }));

const validate = (body: object, token = app.token) =>
  app.ask('POST', `${studio}/validate`, { body: { collection: 'posts', ...body }, token });
const valid = { title: 'T', author: 'ada' };

describe('200', () => {
  it('says yes to what can be saved, and saves nothing', async () => {
    const head = async () => (await app.ask('GET', `${studio}/branches`)).body[0].commit;
    const before = await head();
    const { status, body } = await validate({ frontmatter: valid, body: 'Text', slug: 'en/new' });
    expect({ status, body }).toEqual({ status: 200, body: { valid: true, errors: [], warnings: [] } });
    expect(await head()).toBe(before);
  });

  it('holds against the schema what a file can hold, and nothing of what is larger', async () => {
    const frontmatter = (values: number) => ({ ...valid, tags: Array.from({ length: values - 3 }, () => 1) });
    const { body: within } = await validate({ frontmatter: frontmatter(10_000) });
    expect(within.errors.length).toBeGreaterThan(1);
    const { body: beyond } = await validate({ frontmatter: frontmatter(10_001) });
    expect(beyond).toEqual({
      valid: false,
      errors: [{ field: '', code: 'frontmatter_invalid', message: expect.stringMatching(/more than 10000 values/) }],
      warnings: [],
    });
    const long = await validate({ frontmatter: { ...valid, title: 'x'.repeat(256 * 1024) } });
    expect(long.body).toMatchObject({ valid: false, errors: [{ code: 'frontmatter_invalid' }], warnings: [] });
  });

  it('names every fault as the write would', async () => {
    const frontmatter = { title: 5, rating: 6, author: 'nobody' };
    const { body } = await validate({ frontmatter });
    expect(body.valid).toBe(false);
    expect(body.errors.map(({ field, code }: { field: string; code: string }) => [field, code])).toEqual([
      ['/frontmatter/title', 'type'],
      ['/frontmatter/rating', 'max'],
      ['/frontmatter/author', 'reference'],
    ]);
    const refused = await app.ask('POST', `${studio}/collections/posts`, { body: { slug: 'en/x', frontmatter } });
    expect(refused.status).toBe(422);
    expect(refused.body.details.errors).toEqual(body.errors);
  });

  it('warns of a fault that was there before, as long as it is not touched', async () => {
    const frontmatter = { title: 'New', rating: 99, author: 'ada' };
    const kept = await validate({ frontmatter, slug: 'en/faulty' });
    expect(kept.body).toMatchObject({ valid: true, errors: [], warnings: [{ code: 'max', collection: 'posts' }] });
    const fresh = await validate({ frontmatter });
    expect(fresh.body).toMatchObject({ valid: false, errors: [{ field: '/frontmatter/rating' }], warnings: [] });
  });

  it.each([
    ['a slug that names something else', { slug: '../x' }, '/slug', 'invalid_path'],
    ['a slug that is unwise', { slug: 'en/con' }, '/slug', 'invalid_name'],
    [
      'a block that is too large',
      { frontmatter: { ...valid, extra: 'x'.repeat(300_000) } },
      undefined,
      'frontmatter_invalid',
    ],
  ])('refuses %s', async (_what, draft, field, code) => {
    const { status, body } = await validate({ frontmatter: valid, ...draft });
    expect(status).toBe(200);
    expect(body).toMatchObject({ valid: false, errors: [{ ...(field !== undefined && { field }), code }] });
  });

  it('refuses a body where the whole file is data, and one that is too large', async () => {
    const author = { collection: 'authors', frontmatter: { name: 'Eve' } };
    expect((await validate({ ...author, body: 'x' })).body.valid).toBe(false);
    expect((await validate(author)).body.valid).toBe(true);
    const large = await validate({ frontmatter: valid, body: 'x'.repeat(5 * 1024 * 1024) });
    expect(large.body).toMatchObject({ valid: false, errors: [{ code: 'too_large' }] });
  });

  it('reads the requested branch', async () => {
    await makeBranch(app, 'with-eve');
    const eve = { slug: 'eve', frontmatter: { name: 'Eve' }, branch: 'with-eve' };
    await app.ask('POST', `${studio}/collections/authors`, { body: eve });
    const frontmatter = { ...valid, author: 'eve' };
    expect((await validate({ frontmatter })).body.valid).toBe(false);
    expect((await validate({ frontmatter, branch: 'with-eve' })).body.valid).toBe(true);
  });

  it('takes any collection while there is none', async () => {
    await app.run(createProject, { organization: 'acme', name: 'Empty', machine_name: 'empty' });
    const body = { collection: 'news', frontmatter: {} };
    const answer = await app.ask('POST', `${acme}/projects/empty/studio/validate`, { body });
    expect(answer).toMatchObject({ status: 200, body: { valid: true } });
  });
});

describe('refusals', () => {
  it('404 for an unknown collection or branch', async () => {
    expectRefusal(
      await validate({ collection: 'none', frontmatter: {} }),
      404,
      'not_found',
      'Collection none does not exist',
    );
    expectRefusal(await validate({ frontmatter: {}, branch: 'none' }), 404, 'not_found', 'branch: none does not exist');
  });

  it('400 without frontmatter, 403 without browse_studio', async () => {
    expectRefusal(await validate({}), 400, 'invalid_request', 'frontmatter: is required');
    const token = await app.makeToken(['edit_studio']);
    expectRefusal(await validate({ frontmatter: {} }, token), 403, 'forbidden', 'Missing permission: browse_studio');
  });
});

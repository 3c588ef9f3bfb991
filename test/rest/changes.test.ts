import { beforeAll, describe, expect, it } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { type Answer, acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { countCommits, entryOn, of, ownBranch, pixel, post } from '../support/change-actions.ts';
import { fsck } from '../support/git-store.ts';
import fc from '../support/properties.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, siteFiles));

const other = Buffer.concat([pixel, Buffer.from('more')]);
const image = pixel.toString('base64');
const branch = () => ownBranch(app);
const commits = (name: string) => countCommits(app, name);
const entry = (name: string, slug: string) => entryOn(app, name, slug);
const change = (body: object, headers: Record<string, string> = {}) =>
  app.ask('POST', `${studio}/changes`, { body, headers });

describe('201', () => {
  it('publishes a post with its image and its author in one commit', async () => {
    const name = await branch();
    const before = await commits(name);
    const { status, headers, body } = await change({
      branch: name,
      message: 'Publish',
      actions: [
        post('en/new', { author: 'eve' }),
        { op: 'create', collection: 'authors', slug: 'eve', frontmatter: { name: 'Eve' } },
        { op: 'upload_media', path: 'public/new.png', content: image },
        of('update', 'en/alpha', { frontmatter: { rating: 5 } }),
        of('delete', 'en/beta'),
      ],
    });
    expect({ status, body }).toMatchObject({
      status: 201,
      body: {
        unchanged: false,
        commit: { message: expect.stringMatching(/^Publish/), author: { name: 'Test' } },
        results: [
          { op: 'create', collection: 'posts', slug: 'en/new', path: 'src/content/posts/en/new.md', unchanged: false },
          { op: 'create', collection: 'authors', slug: 'eve', path: 'src/content/authors/eve.yaml' },
          { op: 'upload_media', path: 'public/new.png', unchanged: false },
          { op: 'update', slug: 'en/alpha', unchanged: false, warnings: [] },
          { op: 'delete', slug: 'en/beta', sha: null },
        ],
      },
    });
    expect(headers.get('x-commit-sha')).toBe(body.commit.sha);
    expect(await commits(name)).toBe(before + 1);
    const made = await entry(name, 'en/new');
    expect(made.body).toMatchObject({ sha: body.results[0].sha, frontmatter: { author: 'eve' } });
    expect((await entry(name, 'en/beta')).status).toBe(404);
    const files = await app.ask('GET', `${studio}/media?branch=${name}&path=public`);
    expect(files.body).toContainEqual(expect.objectContaining({ path: 'public/new.png', sha: body.results[2].sha }));
  });

  it('lets an action see what those before it did', async () => {
    const name = await branch();
    const { status, body } = await change({
      branch: name,
      actions: [
        post('en/draft'),
        of('update', 'en/draft', { frontmatter: { title: 'Second' } }),
        of('move', 'en/draft', { to: 'en/final', body: 'New\n' }),
        of('delete', 'en/alpha'),
        post('en/alpha', { title: 'Anew' }),
      ],
    });
    expect({ status, body }).toMatchObject({ status: 201 });
    expect(body.results[2]).toMatchObject({ op: 'move', slug: 'en/final', renamed_from: 'en/draft', references: [] });
    expect((await entry(name, 'en/final')).body).toMatchObject({ title: 'Second', body: 'New\n' });
    expect((await entry(name, 'en/alpha')).body).toMatchObject({ title: 'Anew', sha: body.results[4].sha });
    expect((await entry(name, 'en/draft')).status).toBe(404);
  });

  it('describes the change in its message when the request has none', async () => {
    const name = await branch();
    const several = await change({ branch: name, actions: [post('en/a'), of('delete', 'en/beta')] });
    expect(several.body.commit.message).toBe('Make 2 changes\n\nCreate posts/en/a\nDelete posts/en/beta');
    const one = await change({ branch: name, actions: [of('delete', 'en/a')] });
    expect(one.body.commit.message).toBe('Delete posts/en/a');
  });

  it.each([2, 100])('keeps that to 64 KiB for %i changes, in which each has its line', async (count) => {
    const name = await branch();
    const deep = `en/${`${'語'.repeat(80)}/`.repeat(16)}`;
    const actions = Array.from({ length: count }, (_, at) => post(`${deep}n${at}`));
    const { status, body } = await change({ branch: name, actions });
    expect(status).toBe(201);
    const { message } = body.commit;
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(65_536);
    const [first, blank, ...lines] = message.split('\n');
    expect([first, blank, lines.length]).toEqual([`Make ${count} changes`, '', count]);
    const begins = `Create posts/${deep}`.slice(0, 200);
    for (const line of lines) expect(line).toMatch(count === 2 ? /^Create posts.*\/n\d$/ : /^Create posts.*…$/);
    expect(lines.filter((line: string) => line.startsWith(begins))).toHaveLength(count);
  });

  it('rewrites relations of entries that the same change made', async () => {
    const name = await branch();
    const { body } = await change({
      branch: name,
      actions: [post('en/by-bob', { author: 'bob' }), { op: 'move', collection: 'authors', slug: 'bob', to: 'rob' }],
    });
    expect(body.results[1].references).toEqual(['posts/en/by-bob']);
    expect((await entry(name, 'en/by-bob')).body.frontmatter.author).toBe('rob');
  });

  it('judges entries by the state all actions leave behind', async () => {
    const name = await branch();
    const { status, body } = await change({
      branch: name,
      actions: [post('en/fixed', { title: 5 }), of('update', 'en/fixed', { frontmatter: { title: 'Right' } })],
    });
    expect({ status, body }).toMatchObject({ status: 201 });
  });

  it('deletes an author together with all who name her, and a file together with the entry that shows it', async () => {
    const name = await branch();
    await change({ branch: name, actions: [{ op: 'upload_media', path: 'public/x.png', content: image }] });
    await change({ branch: name, actions: [{ ...post('en/shows'), body: '![](/x.png)\n' }] });
    const refused = await change({ branch: name, actions: [{ op: 'delete_media', path: 'public/x.png' }] });
    expectRefusal(refused, 409, 'in_use', /^actions\.0: public\/x\.png is named by 1 entry/);
    const slugs = ['en/alpha', 'en/beta', 'en/deep/gamma', 'de/alpha', 'en/shows'];
    const { status, body } = await change({
      branch: name,
      actions: [
        { op: 'delete_media', path: 'public/x.png' },
        { op: 'delete', collection: 'authors', slug: 'ada' },
        ...slugs.map((slug) => of('delete', slug)),
      ],
    });
    expect({ status, body }).toMatchObject({ status: 201 });
  });

  it('moves a file with the entry that names it, without its content, and keeps its bytes', async () => {
    const name = await branch();
    const upload = { op: 'upload_media', path: 'public/Old.png', content: other.toString('base64') };
    const uploaded = await change({
      branch: name,
      actions: [upload, { ...post('en/names'), body: '![](/Old.png)\n' }],
    });
    const move = { op: 'move_media', from: 'public/Old.png', path: 'public/old.png' };
    const alone = await change({ branch: name, actions: [move] });
    expectRefusal(alone, 409, 'in_use', /^actions\.0: public\/Old\.png is named by 1 entry/);
    const token = await app.makeToken(['browse_studio', 'edit_studio']);
    const { status, body } = await app.ask('POST', `${studio}/changes`, {
      token,
      body: { branch: name, actions: [of('update', 'en/names', { body: '![](/old.png)\n' }), move] },
    });
    expect({ status, body }).toMatchObject({
      status: 201,
      body: {
        results: [{ op: 'update' }, { op: 'move_media', path: 'public/old.png', renamed_from: 'public/Old.png' }],
      },
    });
    expect(body.results[1].sha).toBe(uploaded.body.results[0].sha);
    const gone = await change({ branch: name, actions: [move] });
    expectRefusal(gone, 404, 'not_found', /^actions\.0\.from: public\/Old\.png is not a file/);
  });

  it('writes to a repository that has no commit yet', async () => {
    await app.run(createProject, { organization: 'acme', name: 'Empty', machine_name: 'empty' });
    const { status, body } = await app.ask('POST', `${acme}/projects/empty/studio/changes`, {
      body: {
        actions: [
          { op: 'create', collection: 'news', slug: 'one', frontmatter: { title: 'One' } },
          { op: 'create', collection: 'pages', slug: 'home', frontmatter: { title: 'Home' } },
          { op: 'move', collection: 'news', slug: 'one', to: 'first' },
        ],
      },
    });
    expect({ status, body }).toMatchObject({ status: 201, body: { commit: { parents: [] } } });
    const list = await app.ask('GET', `${acme}/projects/empty/studio/collections`);
    expect(list.body.map(({ name }: { name: string }) => name)).toEqual(['news', 'pages']);
  });

  it('stands in line with others who write the same branch', async () => {
    const name = await branch();
    const before = await commits(name);
    const write = (at: number) =>
      change({ branch: name, actions: [post(`en/r${at}`), of('move', `en/r${at}`, { to: `en/s${at}` })] });
    const answers = await Promise.all(Array.from({ length: 12 }, (_, at) => write(at)));
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(201));
    expect(await commits(name)).toBe(before + 12);
    for (const at of answers.keys()) expect((await entry(name, `en/s${at}`)).status).toBe(200);
  });

  it('does 100 actions, and repeats the answer for the same key', async () => {
    const name = await branch();
    const actions = Array.from({ length: 100 }, (_, at) => post(`en/many-${at}`));
    const headers = { 'Idempotency-Key': `many-${name}` };
    const first = await change({ branch: name, actions }, headers);
    expect(first.status).toBe(201);
    expect(first.body.results).toHaveLength(100);
    const again = await change({ branch: name, actions }, headers);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
  });
});

describe('200', () => {
  it('makes no commit when nothing changes in the end', async () => {
    const name = await branch();
    const before = await commits(name);
    const { status, body } = await change({
      branch: name,
      actions: [
        post('en/gone'),
        of('update', 'en/alpha', { frontmatter: { title: 'Alpha' } }),
        of('delete', 'en/gone'),
      ],
    });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { unchanged: true, commit: null, results: [{ unchanged: false }, { unchanged: true }, { sha: null }] },
    });
    expect(await commits(name)).toBe(before);
  });
});

describe('files', () => {
  it('are replaced and deleted under the rules of their own operations', async () => {
    const name = await branch();
    const upload = (content: Buffer, more: object = {}) => ({
      op: 'upload_media',
      path: 'public/a.png',
      content: content.toString('base64'),
      ...more,
    });
    const { body } = await change({
      branch: name,
      actions: [upload(pixel), upload(pixel), upload(other, { rename: true })],
    });
    expect(body.results).toMatchObject([
      { path: 'public/a.png', unchanged: false },
      { path: 'public/a.png', unchanged: true },
      { path: 'public/a-1.png', unchanged: false },
    ]);
    const taken = await change({ branch: name, actions: [upload(other)] });
    expectRefusal(taken, 409, 'already_exists', /^actions\.0\.path: public\/a\.png exists/);
    const replaced = await change({
      branch: name,
      actions: [upload(other, { overwrite: true, sha: body.results[0].sha })],
    });
    expect(replaced.body.results[0]).toMatchObject({ sha: body.results[2].sha });
    const entryFile = { op: 'delete_media', path: 'src/content/posts/en/alpha.md' };
    expectRefusal(
      await change({ branch: name, actions: [entryFile] }),
      422,
      'not_editable',
      /^actions\.0\.path: .* entry/,
    );
  });
});

describe('what a change has written and moves again', () => {
  const texts = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 12 });
  const slugs = fc.constantFrom('en/alpha', 'en/beta', 'en/one', 'en/two');
  const files = fc.constantFrom('public/one.txt', 'public/two.csv', 'docs/note.txt');
  const to = (slug: string, text: string) => of('move', slug, { to: `${slug}-${Buffer.from(text).toString('hex')}` });
  const action = fc.oneof(
    fc.tuple(slugs, texts).map(([slug, body]) => ({ ...post(slug), body })),
    fc.tuple(slugs, texts).map(([slug, body]) => of('update', slug, { body: `${body} [one](one.md)` })),
    fc.tuple(slugs, slugs).map(([slug, other]) => of('move', slug, { to: other })),
    fc.tuple(slugs, texts).map(([slug, text]) => to(slug, text)),
    slugs.map((slug) => of('delete', slug, { force: true })),
    fc.tuple(files, texts).map(([path, content]) => ({ op: 'write_file', path, content })),
    fc.tuple(files, files).map(([from, path]) => ({ op: 'move_media', from, path })),
  );
  const gitDir = async () => ((await app.repository()) as unknown as { gitDir: string }).gitDir;

  it.each([
    ['an entry', [post('en/one'), of('move', 'en/one', { to: 'en/two' })]],
    ['an update', [of('update', 'en/alpha', { body: 'Anew' }), of('move', 'en/alpha', { to: 'en/two' })]],
    [
      'a link',
      [
        { ...post('en/one'), body: '[alpha](alpha.md)' },
        of('move', 'en/alpha', { to: 'en/two' }),
        of('move', 'en/one', { to: 'en/three' }),
      ],
    ],
    [
      'a file',
      [
        { op: 'write_file', path: 'docs/note.txt', content: 'A note of this change' },
        { op: 'move_media', from: 'docs/note.txt', path: 'public/note.txt' },
      ],
    ],
    [
      'a file that becomes one of another type',
      [
        { op: 'write_file', path: 'docs/table.txt', content: 'a,b\n1,2\n' },
        { op: 'move_media', from: 'docs/table.txt', path: 'public/table.csv' },
      ],
    ],
  ])('is stored: %s', async (_what, actions) => {
    const name = await branch();
    const { status, body } = await change({ branch: name, actions });
    expect({ status, body }).toMatchObject({ status: 201 });
    fsck(await gitDir());
    const paths: string[] = body.results.map(({ path }: { path: string }) => path);
    const read = await app.ask('GET', `${studio}/file?branch=${name}&path=${paths.at(-1)}`);
    expect(read.status).toBe(200);
  });

  it('leaves nothing missing, in whatever order it is done', async () => {
    const statuses = new Set<number>();
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 2, maxLength: 6 }), async (actions) => {
        const answer: Answer = await change({ branch: await branch(), actions });
        statuses.add(answer.status);
        expect(answer.status).toBeLessThan(500);
        fsck(await gitDir());
      }),
      { numRuns: 40 },
    );
    expect(statuses).toContain(201);
  });
});

import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ContentIndex } from '../../src/domain/studio/content/content-index.ts';
import { GitRepository } from '../../src/engines/git/repository.ts';
import { answerMemory } from '../../src/kernel/answer-memory.ts';
import { newIndex } from '../domain/studio/content/reading.ts';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { ownBranch } from '../support/change-actions.ts';
import { commitTo } from '../support/conflict-site.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const at = (slug: string) => `src/content/posts/${slug}.md`;
const post = (fields: string, body = 'Text.\n') => `---\n${fields}\n---\n\n${body}`;

const beta = post('title: Beta\nauthor: ada');

const app = shared(startTestApp);
beforeAll(async () => {
  await seed(app, {
    ...siteFiles,
    [at('en/beta')]: beta,
    [at('en/links')]: post('title: Links\nauthor: bob', '[Beta](/en/beta/), ![Logo](/logo.svg)\n'),
    [at('en/wrong')]: post('title: Wrong\nauthor: nobody\nrating: 9'),
  });
  const pattern = { collection: 'posts', url_pattern: '/{slug}/', source: null };
  const routes = { route_patterns: [{ ...pattern, locale: undefined }] };
  const { status, body } = await app.ask('PATCH', `${studio}/repository`, { body: routes });
  expect({ status, body }).toMatchObject({ status: 200 });
});

let head: string;
beforeEach(async () => {
  head = await ownBranch(app);
});
const commit = (files: Record<string, string | null>) => commitTo(app, head, files);
const check = async (more = '') =>
  (await app.ask('GET', `${studio}/compare/checks?base=main&head=${head}${more}`)).body;

describe('GET /compare/checks', () => {
  it('finds nothing where nothing new is wrong', async () => {
    await commit({
      [at('en/fine')]: post('title: Fine\nauthor: ada'),
      [at('en/wrong')]: post('title: Still\nauthor: nobody\nrating: 9'),
    });
    expect(await check()).toMatchObject({ errors: 0, warnings: 0, checks: [], truncated: false });
  });

  it('finds invalid fields, relations to nothing and frontmatter that cannot be read, where the base has no such fault', async () => {
    await commit({
      [at('en/wrong')]: post('title: Wrong\nauthor: nobody\nrating: 9\ntags: none'),
      [at('en/new')]: post('title: New\nauthor: eve'),
      [at('en/broken')]: post('title: "Broken\nauthor: ada'),
    });
    const { checks, errors } = await check();
    expect(errors).toBe(3);
    expect(checks).toEqual([
      expect.objectContaining({
        level: 'error',
        entry: { collection: 'posts', slug: 'en/broken', path: at('en/broken'), title: 'Broken' },
        field: '/frontmatter',
        label: null,
      }),
      {
        code: 'reference',
        level: 'error',
        entry: { collection: 'posts', slug: 'en/new', path: at('en/new'), title: expect.any(String) },
        field: '/frontmatter/author',
        label: 'Author',
        message: '"eve" is no entry of "authors"',
      },
      {
        code: 'type',
        level: 'error',
        entry: { collection: 'posts', slug: 'en/wrong', path: at('en/wrong'), title: expect.any(String) },
        field: '/frontmatter/tags',
        label: 'Tags',
        message: 'must be a list',
      },
    ]);
  });

  it('names values of up to 1,000 characters whole, and no more of others', async () => {
    const [whole, long] = ['e'.repeat(1_000), 'e'.repeat(1_001)];
    await commit({
      [at('en/whole')]: post(`title: A\nauthor: ${whole}`),
      [at('en/long')]: post(`title: B\nauthor: ${long}`),
    });
    const { checks } = await check();
    const messages = checks.map(({ message }: { message: string }) => message);
    expect(messages).toEqual([`"${whole}…" is no entry of "authors"`, `"${whole}" is no entry of "authors"`]);
  });

  it('takes room for what it shows', async () => {
    await commit({ [at('en/new')]: post(`title: New\nauthor: ${'e'.repeat(900)}`) });
    const take = vi.spyOn(answerMemory, 'take');
    await check();
    expect(take.mock.calls[0]?.[1]).toBeGreaterThan(900);
    take.mockRestore();
  });

  it('finds what names an entry, a page or a file that is gone, in entries that have not changed', async () => {
    await commit({ 'src/content/authors/bob.yaml': null, [at('en/beta')]: null, 'public/logo.svg': null });
    const { checks } = await check();
    const links = { collection: 'posts', slug: 'en/links', path: at('en/links'), title: expect.any(String) };
    expect(checks).toEqual([
      {
        code: 'reference',
        level: 'error',
        entry: links,
        field: '/frontmatter/author',
        label: 'Author',
        message: '"bob" is an entry that is gone',
      },
      {
        code: 'link',
        level: 'warning',
        entry: links,
        field: null,
        label: null,
        message: expect.stringContaining('/en/beta/'),
      },
      {
        code: 'link',
        level: 'warning',
        entry: links,
        field: null,
        label: null,
        message: expect.stringContaining('public/logo.svg'),
      },
    ]);
  });

  it('finds links to the former address of an entry that was renamed, and none once they are mended', async () => {
    await commit({ [at('en/beta')]: null, [at('en/second')]: beta });
    expect((await check()).checks).toMatchObject([{ code: 'link', entry: { slug: 'en/links' } }]);
    await commit({ [at('en/links')]: post('title: Links\nauthor: bob', '[Beta](/en/second/)\n') });
    expect((await check()).checks).toEqual([]);
  });

  it('takes the default branch for the base, and refuses what is not there', async () => {
    const { body } = await app.ask('GET', `${studio}/compare/checks?head=${head}`);
    expect(body.base_commit).toBe(body.head_commit);
    expectRefusal(await app.ask('GET', `${studio}/compare/checks?head=nowhere`), 404, 'not_found', /^head: /);
    expectRefusal(await app.ask('GET', `${studio}/compare/checks`), 400, 'invalid_request', 'head: is required');
  });
});

describe('publish_checks: block', () => {
  const set = (publish_checks: string) => app.ask('PATCH', `${studio}/repository`, { body: { publish_checks } });
  const merge = (body: object) => app.ask('POST', `${studio}/merge`, { body });

  it('keeps errors from the default branch, by a merge and by a pull request, and lets warnings pass', async () => {
    expect((await set('block')).body.settings.publish_checks).toBe('block');
    await commit({ [at('en/blocked')]: post('title: Blocked\nauthor: eve') });
    const refused = await merge({ head });
    expectRefusal(refused, 409, 'checks_failed', /^1 error keeps this from being published: .*en\/blocked\.md: "eve"/);
    expect(refused.body.details.checks).toMatchObject([{ code: 'reference', field: '/frontmatter/author' }]);
    const { body: pull } = await app.ask('POST', `${studio}/pulls`, { body: { title: 'Blocked', head } });
    const pulled = await app.ask('POST', `${studio}/pulls/${pull.number}/merge`, { body: {} });
    expectRefusal(pulled, 409, 'checks_failed', /./);
    expect((await app.ask('GET', `${studio}/pulls/${pull.number}`)).body.state).toBe('open');

    await commit({ [at('en/blocked')]: null, 'public/logo.svg': null });
    expect(await check()).toMatchObject({ errors: 0, warnings: 1 });
    expect((await merge({ head })).status).toBe(201);
  });

  it('holds back what settles a conflict', async () => {
    await set('block');
    const author = 'src/content/authors/ada.yaml';
    await commit({ [author]: 'name: Mine\n' });
    await commitTo(app, 'main', { [author]: 'name: Theirs\n' });
    const { body: pull } = await app.ask('POST', `${studio}/pulls`, { body: { title: 'Settled', head } });
    const ways = [
      (resolutions?: object[]) =>
        app.ask('POST', `${studio}/pulls/${pull.number}/merge`, { body: { ...(resolutions && { resolutions }) } }),
      (resolutions?: object[]) => merge({ head, strategy: 'squash', ...(resolutions && { resolutions }) }),
    ];
    for (const way of ways) {
      const [{ path, stages }] = (await way()).body.details.conflicts;
      const refused = await way([{ path, stages, delete: true }]);
      expectRefusal(refused, 409, 'checks_failed', /"ada" is /);
    }
    const [{ path, stages }] = (await merge({ head })).body.details.conflicts;
    expect((await merge({ head, resolutions: [{ path, stages, raw: 'name: Both\n' }] })).status).toBe(201);
  });

  it('checks by the configuration that settles a conflict, which then holds, after a restart too', async () => {
    await set('block');
    const path = 'src/content.config.ts';
    const config = siteFiles[path] ?? '';
    const rated = (most: number) =>
      config.replace('rating: z.number().min(0).max(5)', `rating: z.number().max(${most})`);
    await commit({ [path]: rated(8) });
    await commitTo(app, 'main', { [path]: rated(9) });
    const [{ stages }] = (await merge({ head })).body.details.conflicts;
    expect((await merge({ head, resolutions: [{ path, stages, raw: rated(10) }] })).status).toBe(201);
    const git = await app.repository();
    const restarted = await newIndex(app).site(git, await git.snapshot(await git.head('main')));
    const { body: schemas } = await app.ask('GET', `${studio}/schema`);
    for (const found of [schemas, restarted.discovery.schemas])
      expect(found).toMatchObject([{ collection: 'authors' }, { collection: 'posts', inferred: false }]);
    const rate = (rating: number) =>
      app.ask('PUT', `${studio}/collections/posts/en/alpha`, { body: { frontmatter: { rating } } });
    expect([(await rate(11)).status, (await rate(10)).status]).toEqual([422, 200]);
    await commitTo(app, 'main', { [path]: config });
  });

  it('holds back what is sound on each side and broken together', async () => {
    await set('block');
    const authors = (slug: string) => `src/content/authors/${slug}.yaml`;
    await commitTo(app, 'main', { [authors('eve')]: 'name: Eve\n', [authors('tom')]: 'name: Tom\n' });
    head = await ownBranch(app);
    await commit({ [at('en/of-eve')]: post('title: Of Eve\nauthor: eve'), [authors('tom')]: null });
    await commitTo(app, 'main', { [authors('eve')]: null, [at('en/of-tom')]: post('title: Of Tom\nauthor: tom') });
    expect(await check()).toMatchObject({ errors: 0 });
    const refused = await merge({ head });
    expectRefusal(refused, 409, 'checks_failed', /^2 errors keep this from being published: /);
    expect(refused.body.details.checks).toMatchObject([
      { entry: { slug: 'en/of-eve' }, message: '"eve" is no entry of "authors"' },
      { entry: { slug: 'en/of-tom' }, message: '"tom" is an entry that is gone' },
    ]);
  });

  it('checks more files than are shown, a few at a time, and no more once there are as many errors as are shown', async () => {
    await set('block');
    const slugs = Array.from({ length: 1_005 }, (_, at) => `en/many/${1_000 + at}`);
    await commit({
      ...Object.fromEntries(slugs.map((slug) => [at(slug), post('title: Many\nauthor: ada')])),
      [at('en/zz-bad')]: post('title: Bad'),
    });
    expect(await check()).toMatchObject({ errors: 0, truncated: true });
    const listed = vi.spyOn(ContentIndex.prototype, 'listedFacts');
    const reads = () => listed.mock.calls.map(([, , places]) => places.length);
    expectRefusal(await merge({ head }), 409, 'checks_failed', /^1 error keeps this from .*en\/zz-bad\.md/);
    expect(Math.max(...reads())).toBe(100);

    await commit(Object.fromEntries(slugs.map((slug) => [at(slug), post('title: Many')])));
    listed.mockClear();
    const refused = await merge({ head, strategy: 'ff' });
    expectRefusal(refused, 409, 'checks_failed', /^At least 200 errors keep this from /);
    expect(refused.body.details.checks).toHaveLength(200);
    expect(reads().filter((length) => length === 100)).toHaveLength(2);
    listed.mockRestore();
  });

  describe('a merge that takes long to check', () => {
    const { listedFacts } = ContentIndex.prototype;
    /** Does something each time that a hundred changed files are read, and counts that. */
    function onCheck(act: (checks: number) => Promise<unknown>) {
      let checks = 0;
      vi.spyOn(ContentIndex.prototype, 'listedFacts').mockImplementation(async function (this: ContentIndex, ...given) {
        if (given[2].length === 100) await act(++checks);
        return listedFacts.apply(this, given);
      });
      onTestFinished(() => void vi.restoreAllMocks());
      return () => checks;
    }
    const long = (author = 'ada') =>
      commit(
        Object.fromEntries(
          Array.from({ length: 101 }, (_, n) => [at(`en/${head}/${n}`), post(`title: Long\nauthor: ${author}`)]),
        ),
      );
    const moveMain = (n: number) => commitTo(app, 'main', { 'public/moved.txt': `${head} ${n}` });
    const byPull = async () => {
      const { body: pull } = await app.ask('POST', `${studio}/pulls`, { body: { title: 'Long', head } });
      return app.ask('POST', `${studio}/pulls/${pull.number}/merge`, { body: {} });
    };

    it.each([
      ['a merge', () => merge({ head })],
      ['a squash', () => merge({ head, strategy: 'squash' })],
      ['a pull request', byPull],
    ])('lets others write meanwhile, and is checked again then: %s', async (_way, way) => {
      await set('block');
      await long();
      let moved: string | undefined;
      const checks = onCheck(async (n) => {
        if (n === 1) moved = await moveMain(n);
      });
      const { body } = await way();
      expect(body).toMatchObject({ merged: true, commit: { parents: expect.arrayContaining([moved]) } });
      expect(checks()).toBe(2);
    });

    it('is checked once where nothing moves, and moves its base by one commit', async () => {
      await set('block');
      await long();
      const main = await (await app.repository()).head('main');
      const checks = onCheck(async () => {});
      expect((await merge({ head })).body.commit.parents).toEqual([main, expect.any(String)]);
      expect(checks()).toBe(1);
    });

    it('is not published with what another write has broken meanwhile', async () => {
      const author = 'src/content/authors/gone.yaml';
      await set('block');
      await commitTo(app, 'main', { [author]: 'name: Gone\n' });
      head = await ownBranch(app);
      await long('gone');
      const checks = onCheck(async (n) => {
        if (n === 1) await commitTo(app, 'main', { [author]: null });
      });
      expectRefusal(await merge({ head }), 409, 'checks_failed', /^101 errors keep this from .* "gone" is no entry/);
      expect(checks()).toBe(2);
    });

    it('is checked again by settings that came meanwhile', async () => {
      await set('block');
      await long();
      const checks = onCheck(async (n) => {
        if (n === 1) await app.ask('PATCH', `${studio}/repository`, { body: { fresh_for: { read: 31, write: 3 } } });
      });
      expect((await merge({ head })).status).toBe(201);
      expect(checks()).toBe(2);
    });

    it('waits for another of the same branch, and is checked with what that has brought', async () => {
      await set('block');
      await long();
      const first = head;
      head = await ownBranch(app);
      await long();
      const answers: Promise<{ status: number }>[] = [];
      const checks = onCheck(async (n) => {
        if (n > 1) return;
        answers.push(merge({ head }));
        // Both have left their first turn by then.
        const left = () => writes.mock.settledResults.filter(({ type }) => type === 'rejected');
        await vi.waitFor(() => expect(left()).toHaveLength(2));
      });
      const writes = vi.spyOn(GitRepository.prototype, 'write');
      expect((await merge({ head: first })).status).toBe(201);
      expect(await Promise.all(answers)).toMatchObject([{ status: 201 }]);
      expect(checks()).toBe(2);
    });

    it('waits for another of the same branch no longer than claims to merge last', async () => {
      await set('block');
      await long();
      const first = head;
      head = await ownBranch(app);
      await long();
      const over = new AbortController();
      const { timeout } = AbortSignal;
      const wait = vi
        .spyOn(AbortSignal, 'timeout')
        .mockImplementation((time) => (time === 100_000 ? over.signal : timeout.call(AbortSignal, time)));
      const answers: { status: number; body: unknown }[] = [];
      onCheck(async (n) => {
        if (n > 1) return;
        const second = merge({ head });
        await vi.waitFor(() => expect(wait.mock.calls.filter(([time]) => time === 100_000)).toHaveLength(2));
        over.abort();
        answers.push(await second);
      });
      expect((await merge({ head: first })).status).toBe(201);
      expect(answers).toMatchObject([{ status: 409, body: { code: 'busy' } }]);
    });

    describe('of a pull request, whose claim to it has run out when its turn comes', () => {
      let pull: string;
      beforeEach(async () => {
        await set('block');
        await long();
        const { body } = await app.ask('POST', `${studio}/pulls`, { body: { title: 'Long', head } });
        pull = `${studio}/pulls/${body.number}`;
      });
      const mergeIt = () => app.ask('POST', `${pull}/merge`, { body: {} });
      const shown = async () => (await app.ask('GET', pull)).body;
      /** Does something once the claim has run out, while the merge is prepared. */
      function onceLate(act: () => Promise<unknown>) {
        onTestFinished(() => {
          app.clock.now = null;
        });
        onCheck(async (n) => {
          if (n > 1) return;
          app.clock.now = new Date(Date.now() + 160_000);
          await act();
        });
      }

      it('goes on where nothing has become of that, and cannot be closed then', async () => {
        const refused: { status: number }[] = [];
        onceLate(async () => {
          const { write } = GitRepository.prototype;
          vi.spyOn(GitRepository.prototype, 'write').mockImplementation(async function (this: GitRepository, request) {
            const { plan } = request;
            return write.call(this, {
              ...request,
              async plan(...given) {
                const made = await plan(...given);
                refused.push(await app.ask('PATCH', pull, { body: { state: 'closed' } }));
                return made;
              },
            }) as never;
          });
        });
        expect((await mergeIt()).body).toMatchObject({ merged: true, pull: { state: 'merged' } });
        expect(refused).toMatchObject([{ status: 409, body: { code: 'busy' } }]);
      });

      it('is refused where it has been closed', async () => {
        let main: string | null = null;
        onceLate(async () => {
          expect((await app.ask('PATCH', pull, { body: { state: 'closed' } })).status).toBe(200);
          main = await (await app.repository()).head('main');
        });
        expectRefusal(await mergeIt(), 409, 'not_mergeable', / is closed$/);
        expect(await shown()).toMatchObject({ state: 'closed', merged: false });
        expect(await (await app.repository()).head('main')).toBe(main);
      });

      it('is left to another call that has claimed it', async () => {
        const others: ReturnType<typeof mergeIt>[] = [];
        onceLate(async () => {
          const left = vi.spyOn(GitRepository.prototype, 'write');
          others.push(mergeIt());
          await vi.waitFor(() => expect(left.mock.settledResults).toMatchObject([{ type: 'rejected' }]));
        });
        expectRefusal(await mergeIt(), 409, 'busy', / is being merged$/);
        expect(await Promise.all(others)).toMatchObject([{ body: { merged: true } }]);
        expect((await shown()).state).toBe('merged');
      });
    });

    it('is made in its turn in the end, while the branch keeps moving', async () => {
      await set('block');
      await long();
      const checks = onCheck(async (n) => {
        if (n <= 10) await moveMain(n);
      });
      expect((await merge({ head })).status).toBe(201);
      expect(checks()).toBe(11);
    });

    it('is refused in the end where others would wait too long for that', async () => {
      await set('block');
      await long();
      let [late, moved] = [0, ''];
      const now = performance.now.bind(performance);
      vi.spyOn(performance, 'now').mockImplementation(() => now() + late);
      const checks = onCheck(async (n) => {
        late += 5_100;
        moved = await moveMain(n);
      });
      expectRefusal(
        await merge({ head }),
        409,
        'branch_moved',
        /^base: main keeps moving .*try again, or merge it in parts$/,
      );
      expect(checks()).toBe(4);
      expect(await (await app.repository()).head('main')).toBe(moved);
    });
  });

  it('refuses to merge more files than it can check at once, and says what to do', async () => {
    await set('block');
    const text = Buffer.from('x');
    await commitTo(
      app,
      head,
      Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`data/${Math.floor(at / 500)}/${at}.txt`, text])),
    );
    const message = /^head: changes more than 50000 files of main, .* in parts, or set publish_checks to warn/;
    expectRefusal(await merge({ head }), 413, 'too_large', message);
  });

  it('leaves out faults of files that a merge renames', async () => {
    await set('block');
    const wrong = (title: string) =>
      post(`title: ${title}\nauthor: nobody\nrating: 9`, 'A text that stays. '.repeat(50));
    await commitTo(app, 'main', { [at('en/old-1')]: wrong('One'), [at('en/old-2')]: wrong('Two') });
    head = await ownBranch(app);
    await commit({
      [at('en/old-1')]: null,
      [at('en/new-1')]: wrong('One'),
      [at('en/old-2')]: null,
      [at('en/new-2')]: wrong('Deux'),
    });
    expect((await merge({ head })).status).toBe(201);
    head = await ownBranch(app);
    await commit({ [at('en/new-1')]: null, [at('en/other')]: post('title: Other\nauthor: nobody') });
    expectRefusal(await merge({ head }), 409, 'checks_failed', /en\/other\.md/);
  });

  it('blocks neither merges into other branches, nor any where it only warns', async () => {
    await set('block');
    const other = head;
    head = await ownBranch(app);
    await commit({ [at('en/warned')]: post('title: Warned\nauthor: eve') });
    expect((await merge({ head, base: other })).status).toBe(201);
    expectRefusal(await merge({ head }), 409, 'checks_failed', /./);
    await set('warn');
    expect((await merge({ head })).status).toBe(201);
  });
});

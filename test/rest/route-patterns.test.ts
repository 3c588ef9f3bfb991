import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const detect = `${studio}/route-patterns/detect`;
const alpha = `${studio}/collections/posts/en/alpha`;
const page = (reads: string) => `---
import { getCollection } from 'astro:content';
export async function getStaticPaths() {
  const posts = await ${reads};
  return posts.map((post) => ({ params: { slug: post.id }, props: { post } }));
}
---
<h1>Post</h1>
`;
const config = (base: string) =>
  `export default { base: '${base}', i18n: { locales: ['en', 'de'], defaultLocale: 'en' } };\n`;
const files = {
  ...siteFiles,
  'package.json': '{"dependencies":{"astro":"7.2.10"}}',
  'package-lock.json': '{}',
  'astro.config.mjs': config('/garden'),
  'src/pages/posts/[...slug].astro': page("getCollection('posts', ({ data }) => !data.draft)"),
  'public/logo.svg': '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>',
};

const app = shared(startTestApp);
beforeAll(() => seed(app, files));

const save = () => app.ask('POST', detect, { body: { save: true } });

describe('200', () => {
  it('gives the framework, a pattern for each collection with pages, samples and how to build it', async () => {
    const { status, body } = await app.ask('POST', detect);
    expect(status).toBe(200);
    expect(body).toEqual({
      framework: { id: 'astro', version: '7.2.10', confidence: 1, evidence: expect.any(Array) },
      root: '',
      base: '/garden',
      patterns: [
        {
          collection: 'posts',
          content_glob: 'src/content/posts/**/*.md',
          url_pattern: '/garden/posts/{slug}/',
          index_rule: 'directory',
          trailing_slash: true,
          confidence: 0.9,
          source: { path: 'src/pages/posts/[...slug].astro' },
        },
      ],
      samples: expect.arrayContaining([{ path: 'src/content/posts/en/alpha.md', url: '/garden/posts/en/alpha/' }]),
      environment_defaults: {
        root_directory: '',
        package_manager: 'npm',
        install_command: 'npm ci',
        build_command: 'npx astro build',
        output_directory: 'dist',
      },
      saved: false,
      warnings: [],
    });
    expect((await app.ask('GET', alpha)).body).not.toHaveProperty('url');
  });

  it('with `save` gives every entry that is published its address, wherever it is shown', async () => {
    expect((await save()).body).toMatchObject({ saved: true });
    expect((await app.ask('GET', alpha)).body.url).toBe('/garden/posts/en/alpha/');
    const list = (await app.ask('GET', `${studio}/collections/posts`)).body as { slug: string; url?: string }[];
    const urls = Object.fromEntries(list.map(({ slug, url }) => [slug, url]));
    expect(urls).toMatchObject({
      'en/alpha': '/garden/posts/en/alpha/',
      'en/deep/gamma': '/garden/posts/en/deep/gamma/',
    });
    expect(urls['en/beta']).toBeUndefined();
    const saved = await app.ask('PUT', alpha, { body: { frontmatter: { rating: 3 } } });
    expect(saved.body.url).toBe('/garden/posts/en/alpha/');
    expect((await app.ask('GET', alpha)).headers.get('etag')).toBe(saved.headers.get('etag'));
    expect((await app.ask('GET', `${studio}/media?path=public`)).body[0].public_path).toBe('/garden/logo.svg');
  });

  it('a changed configuration changes addresses at once, and no 304 hides it', async () => {
    await save();
    const before = (await app.ask('GET', alpha)).headers.get('etag') ?? '';
    const list = `${studio}/collections/posts?fields=title`;
    const listed = (await app.ask('GET', list)).headers.get('etag') ?? '';
    await seed(app, { 'astro.config.mjs': config('/orchard') });
    const after = await app.ask('GET', alpha, { headers: { 'If-None-Match': before } });
    expect([after.status, after.body.url]).toEqual([200, '/orchard/posts/en/alpha/']);
    const again = await app.ask('GET', list, { headers: { 'If-None-Match': listed } });
    expect([again.status, again.body[0].url]).toEqual([200, '/orchard/posts/de/alpha/']);
    const etag = after.headers.get('etag') ?? '';
    expect((await app.ask('GET', alpha, { headers: { 'If-None-Match': etag } })).status).toBe(304);
    // A branch has the addresses of its own configuration.
    await app.ask('POST', `${studio}/branches`, { body: { name: 'other' } });
    await seed(app, { 'astro.config.mjs': config('/garden') });
    expect((await app.ask('GET', `${alpha}?branch=other`)).body.url).toBe('/orchard/posts/en/alpha/');
    expect((await app.ask('GET', alpha)).body.url).toBe('/garden/posts/en/alpha/');
  });

  it('patterns written by hand hold as they are, and can be forgotten', async () => {
    const route_patterns = [{ collection: 'posts', url_pattern: '/p/{locale}/{rating}/{slug}', trailing_slash: false }];
    const { status, body } = await app.ask('PATCH', `${studio}/repository`, { body: { route_patterns } });
    expect([status, body.route_patterns]).toMatchObject([200, [{ ...route_patterns[0], source: null, confidence: 1 }]]);
    await app.ask('PUT', alpha, { body: { frontmatter: { rating: 4 } } });
    expect((await app.ask('GET', alpha)).body.url).toBe('/p/en/4/en/alpha');
    // Without a value for each name there is no address.
    expect((await app.ask('GET', `${studio}/collections/posts/en/deep/gamma`)).body).not.toHaveProperty('url');
    await app.ask('PATCH', `${studio}/repository`, { body: { route_patterns: null } });
    expect((await app.ask('GET', alpha)).body).not.toHaveProperty('url');
    expect((await app.ask('GET', `${studio}/repository`)).body.route_patterns).toBeNull();
  });

  it('finds nothing in a repository without a framework, and says so', async () => {
    await app.ask('POST', '/api/v2/organizations/acme/projects', { body: { machine_name: 'plain', name: 'Plain' } });
    const { status, body } = await app.ask(
      'POST',
      '/api/v2/organizations/acme/projects/plain/studio/route-patterns/detect',
    );
    expect([status, body.framework, body.patterns]).toEqual([200, null, []]);
    await seed(app, { 'notes/a.md': '# A\n' }, 'plain');
    const found = await app.ask('POST', '/api/v2/organizations/acme/projects/plain/studio/route-patterns/detect');
    expect(found.body).toMatchObject({ framework: null, patterns: [], environment_defaults: { build_command: null } });
  });

  it('with `save` gives addresses to entries of collections in which only some files are pages', async () => {
    const body = { machine_name: 'sections', name: 'Sections' };
    await app.ask('POST', '/api/v2/organizations/acme/projects', { body });
    const quiet = 'title: Quiet\ncascade:\n  _build: { render: never }';
    const sections = {
      'hugo.toml':
        "baseURL = 'https://example.org/'\n[[module.mounts]]\nsource = 'content'\ntarget = 'content'\n[[module.mounts]]\nsource = 'notes/about.md'\ntarget = 'content/about.md'\n",
      'content/quiet/_index.md': `---\n${quiet}\n---\n`,
      'content/quiet/a.md': '---\ntitle: A\n---\n',
      'content/quiet/loud/_index.md': '---\ntitle: Loud\ncascade:\n  _build: { render: always }\n---\n',
      'content/quiet/loud/b.md': '---\ntitle: B\n---\n',
      'notes/about.md': '---\ntitle: About\n---\n',
      'notes/private.md': '---\ntitle: Private\n---\n',
    };
    await seed(app, sections, 'sections');
    const at = '/api/v2/organizations/acme/projects/sections/studio';
    await app.ask('POST', `${at}/route-patterns/detect`, { body: { save: true } });
    const urls: Record<string, string | undefined> = {};
    for (const { name } of (await app.ask('GET', `${at}/collections`)).body as { name: string }[])
      for (const { path, url } of (await app.ask('GET', `${at}/collections/${name}`)).body as {
        path: string;
        url?: string;
      }[])
        urls[path] = url;
    expect(urls).toMatchObject({
      'content/quiet/a.md': undefined,
      'content/quiet/loud/_index.md': '/quiet/loud/',
      'content/quiet/loud/b.md': '/quiet/loud/b/',
      'notes/about.md': '/about/',
      'notes/private.md': undefined,
    });
  });
});

describe('400', () => {
  it('for a root that could name something else, and an address that is none', async () => {
    expectRefusal(await app.ask('POST', detect, { body: { root: '../up' } }), 400, 'invalid_path', /^root: /);
    expectRefusal(
      await app.ask('POST', detect, { body: { sitemap_url: 'sitemap.xml' } }),
      400,
      'invalid_request',
      /^sitemap_url: /,
    );
  });

  it('for a sitemap on this machine’s networks', async () => {
    const answer = await app.ask('POST', detect, { body: { sitemap_url: 'http://127.0.0.1:9/sitemap.xml' } });
    expectRefusal(answer, 400, 'invalid_request', /address/);
  });

  it('for a pattern that is no path', async () => {
    const body = { route_patterns: [{ collection: 'posts', url_pattern: 'posts/{slug}' }] };
    expectRefusal(
      await app.ask('PATCH', `${studio}/repository`, { body }),
      400,
      'invalid_request',
      /must begin with \/$/,
    );
  });
});

describe('403', () => {
  it('without edit_studio', async () => {
    const token = await app.makeToken(['browse_studio']);
    expectRefusal(await app.ask('POST', detect, { token }), 403, 'forbidden', /edit_studio/);
  });
});

describe('404', () => {
  it('for a branch that is not there', async () => {
    expectRefusal(
      await app.ask('POST', detect, { body: { branch: 'nowhere' } }),
      404,
      'not_found',
      'branch: nowhere does not exist',
    );
  });
});

describe('commands that build the site', () => {
  const install = async () => (await app.ask('POST', detect)).body.environment_defaults.install_command;

  it('follow the lock that a commit adds, and the version it was written by', async () => {
    await seed(app, { ...files, 'yarn.lock': '# yarn lockfile v1\n' });
    expect(await install()).toBe('yarn install --frozen-lockfile');
    await seed(app, { ...files, 'yarn.lock': '__metadata:\n  version: 8\n' });
    expect(await install()).toBe('yarn install --immutable');
    await seed(app, { 'pnpm-lock.yaml': 'lockfileVersion: 9\n' });
    expect(await install()).toBe('pnpm install --frozen-lockfile');
  });
});

describe('entries at one address', () => {
  it('are reported with both paths', async () => {
    await seed(app, {
      ...files,
      'src/content/posts/en/twin.md': '---\ntitle: Twin\nslug: en/alpha\n---\n',
      'src/content/posts/en/twin-draft.md': '---\ntitle: Twin\nslug: en/alpha\ndraft: true\n---\n',
    });
    const { body } = await app.ask('POST', detect);
    expect(body.warnings).toEqual([
      {
        code: 'same_url',
        message:
          'src/content/posts/en/alpha.md and src/content/posts/en/twin.md have the same address, /garden/posts/en/alpha/',
        path: 'src/content/posts/en/twin.md',
        collection: 'posts',
      },
    ]);
  });
});

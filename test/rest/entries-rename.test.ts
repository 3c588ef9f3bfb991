import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { StagedTree } from '../../src/engines/git/commits/commit-plan.ts';
import { GitRepository } from '../../src/engines/git/repository.ts';
import { acme, seed, shared, startTestApp } from '../support/app.ts';
import { watchCommits } from '../support/git-store.ts';

const app = shared(startTestApp);

const page = '---\ntitle: Old\n---\n';

/** Renames the entry `old` of a site of its own. */
async function rename(project: string, files: Record<string, string | Buffer>, collection: string) {
  await app.run(createProject, { organization: 'acme', name: project, machine_name: project });
  await seed(app, files, project);
  const url = `${acme}/projects/${project}/studio/collections/${collection}/old`;
  return (await app.ask('PUT', url, { body: { slug: 'new' } })).body;
}

describe('a rename suggests how to keep the old address alive', () => {
  it('by the key the schema declares, with the address where it is known', async () => {
    const fields = [{ name: 'aliases', type: 'string', list: true }];
    const config = { collections: { notes: { path: 'notes', url_pattern: '/n/{slug}/', fields } } };
    const files = { 'studio.config.json': JSON.stringify(config), 'notes/old.md': page };
    const { details } = await rename('declared', files, 'notes');
    expect(details).toEqual({ redirect: { field: '/aliases', slug: 'old', url: '/n/old/' } });
  });

  it('by the key of the framework', async () => {
    const files = { 'hugo.toml': 'title = "x"\n', 'archetypes/posts.md': page, 'content/posts/old.md': page };
    const { details } = await rename('hugo', files, 'posts');
    expect(details).toEqual({ redirect: { field: '/aliases', slug: 'old' } });
  });

  it('where the site has one, and not otherwise', async () => {
    const body = await rename('plain', { 'content/posts/old.md': page }, 'posts');
    expect(body).toMatchObject({ slug: 'new', renamed_from: 'old' });
    expect(body).not.toHaveProperty('details');
  });
});

describe('a post of Hexo with an asset folder', () => {
  const hexo = '/api/v2/organizations/acme/projects/hexo/studio';
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

  it('takes its files along, and says so', async () => {
    await app.ask('POST', '/api/v2/organizations/acme/projects', { body: { machine_name: 'hexo', name: 'Hexo' } });
    const files = {
      '_config.yml': 'post_asset_folder: true\n',
      'package.json': '{"dependencies":{"hexo":"8.1.2"}}',
      'source/_posts/old.md': '---\ntitle: Old\n---\n![](a.png)\n',
      'source/_posts/old/a.png': Buffer.from(pixel, 'base64'),
      'source/_posts/old/deep/b.png': Buffer.from(pixel, 'base64'),
      'source/_posts/old/entry.md': '---\ntitle: Entry\n---\n',
      'source/_posts/older/c.png': Buffer.from(pixel, 'base64'),
    };
    await seed(app, files, 'hexo');
    const token = await app.makeToken(['browse_studio', 'edit_studio']);
    const renamed = await app.ask('PUT', `${hexo}/collections/posts/old`, { body: { slug: 'new' }, token });
    expect(renamed).toMatchObject({
      status: 200,
      body: {
        path: 'source/_posts/new.md',
        assets: ['source/_posts/new/a.png', 'source/_posts/new/deep/b.png'],
      },
    });
    const { body } = await app.ask('GET', `${hexo}/filetree?path=source&flat=true`);
    expect(body.tree.flatMap((one: { path: string; type: string }) => (one.type === 'blob' ? [one.path] : []))).toEqual(
      [
        'source/_posts/new.md',
        'source/_posts/new/a.png',
        'source/_posts/new/deep/b.png',
        'source/_posts/old/entry.md',
        'source/_posts/older/c.png',
      ],
    );
  });
});

describe('an entry that is the index of a directory', () => {
  it('is not renamed to where its collection has no entries', async () => {
    await app.run(createProject, { organization: 'acme', name: 'docs', machine_name: 'docs' });
    const files = {
      'docusaurus.config.js': "module.exports = { presets: [['classic', {}]] };\n",
      'docs/old/index.md': page,
      'docs/old/notes.txt': 'x\n',
    };
    await seed(app, files, 'docs');
    const url = `${acme}/projects/docs/studio/collections/docs/old`;
    for (const slug of ['node_modules/new', '_new']) {
      const { status, body } = await app.ask('PUT', url, { body: { slug } });
      expect([status, body.message]).toEqual([422, `slug: "docs/${slug}/index.md" is not a path of collection "docs"`]);
    }
    expect((await app.ask('PUT', url, { body: { slug: 'new' } })).body.path).toBe('docs/new/index.md');
  });
});

describe('the long texts and files that a rename writes', () => {
  const words = 'word '.repeat(300_000);

  it('do not wait in memory for its commit', async () => {
    const commits = watchCommits();
    const linking = `---\ntitle: Linking\n---\n[old](./old/index.md)\n${words}`;
    const index = `---\ntitle: Old\n---\n[linking](../linking.md) ![](a.png)\n${words}`;
    const files = {
      'content/posts/old/index.md': index,
      'content/posts/old/a.png': Buffer.alloc(2 * 1024 * 1024, 1),
      'content/posts/old/notes.txt': 'short',
      'content/posts/linking.md': linking,
    };
    const renamed = await rename('long', files, 'posts');
    expect(renamed).toMatchObject({ slug: 'new', body: index.slice(index.indexOf('[')) });
    expect(commits.at(-1)).toEqual({ files: 7, inMemory: 0 });
    const url = `${acme}/projects/long/studio/collections/posts/linking?raw=true`;
    expect((await app.ask('GET', url)).body.raw).toBe(linking.replace('./old/', './new/'));
  });
});

describe('a rename of an entry with much beside it', () => {
  const site = '/api/v2/organizations/acme/projects/bundles/studio';
  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(100)]);
  const files = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`content/posts/big/${at}.png`, png]));

  it('reads what moves along once, ahead of the turn of the branch: others write meanwhile', async () => {
    await app.run(createProject, { organization: 'acme', name: 'Bundles', machine_name: 'bundles' });
    await seed(app, { 'hugo.toml': 'title = "x"\n', 'content/posts/big/index.md': page, ...files }, 'bundles');
    const token = await app.makeToken(['browse_studio', 'edit_studio']);
    const { writeOnto } = GitRepository.prototype;
    let others = 0;
    const ahead = vi.spyOn(GitRepository.prototype, 'writeOnto').mockImplementation(async function (
      this: GitRepository,
      ...given
    ) {
      if (others++ === 0) await seed(app, { 'content/posts/other.md': page }, 'bundles');
      return writeOnto.apply(this, given) as never;
    });
    const reads = vi.spyOn(StagedTree.prototype, 'blobs');
    onTestFinished(() => void vi.restoreAllMocks());
    const { status, body } = await app.ask('PUT', `${site}/collections/posts/big`, { body: { slug: 'big2' }, token });
    expect({ status, body }).toMatchObject({ status: 200, body: { slug: 'big2', renamed_from: 'big' } });
    expect(ahead).toHaveBeenCalledTimes(2);
    expect(Math.max(...reads.mock.calls.map(([oids]) => oids.length))).toBe(1);
    const { tree } = (await app.ask('GET', `${site}/filetree?depth=4`)).body;
    const paths = tree.map(({ path }: { path: string }) => path);
    expect(paths).toEqual(expect.arrayContaining(['content/posts/big2/29.png', 'content/posts/other.md']));
    expect(paths).not.toContain('content/posts/big/29.png');
  });

  it('is ahead of it in changes, too', async () => {
    const ahead = vi.spyOn(GitRepository.prototype, 'writeOnto');
    onTestFinished(() => void vi.restoreAllMocks());
    const actions = [{ op: 'move', collection: 'posts', slug: 'big2', to: 'big3' }];
    expect((await app.ask('POST', `${site}/changes`, { body: { actions } })).status).toBe(201);
    expect(ahead).toHaveBeenCalledTimes(1);
  });
});

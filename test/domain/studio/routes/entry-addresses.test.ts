import { beforeEach, expect, it } from 'vitest';
import { duplicateAddresses, entryAtUrl } from '../../../../src/domain/studio/routes/entry-addresses.ts';
import type { EntryRoutes } from '../../../../src/domain/studio/routes/entry-routes.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { save } from '../../../support/git-store.ts';
import fc from '../../../support/properties.ts';

const app = shared(startTestApp);

const pathOf = (name: string) => `content/posts/${name}.md`;
const post = (url: string) => `---\ntitle: Post\nurl: ${url}\n---\n`;

/** Paths whose address was made out since the last test. */
let made: string[] = [];
let number = 0;
let routes: EntryRoutes;
beforeEach(() => {
  number += 1;
  routes = countedRoutes(`routes ${number}`);
  made = [];
});

/** Every entry says where it is. */
function countedRoutes(key: string): EntryRoutes {
  return {
    key,
    base: '',
    linkTo: (_what, address) => address,
    urlOf(_collection, { path }, frontmatter) {
      made.push(path);
      return typeof frontmatter?.url === 'string' ? frontmatter.url : undefined;
    },
    aliasesOf: () => [],
    whyNone: () => null,
  };
}

async function look() {
  const git = await app.repository();
  const snapshot = await git.snapshot(await git.head('main'));
  const { studio } = app.services;
  const context = { git, studio, project: { settings: { content_root: null } } } as unknown as Parameters<
    typeof entryAtUrl
  >[0];
  const site = await studio.content.site(git, snapshot);
  return {
    duplicates: async () => duplicateAddresses(context, snapshot, [...site.collections.values()], routes),
    at: async (url: string) => (await entryAtUrl(context, snapshot, routes, url))?.path ?? null,
  };
}

async function write(files: Record<string, string | null>): Promise<void> {
  await save(await app.repository(), files);
}

it('makes out the addresses of entries that came or changed only', async () => {
  await write({ [pathOf('b')]: post('/b/'), [pathOf('d')]: post('/d/'), [pathOf('f')]: post('/f/') });
  expect(await (await look()).at('/d/')).toBe(pathOf('d'));
  expect(made.sort()).toEqual(['b', 'd', 'f'].map(pathOf));
  made = [];
  await write({ [pathOf('a')]: post('/a/'), [pathOf('d')]: post('/new/'), [pathOf('b')]: null });
  const { at, duplicates } = await look();
  expect(await at('/new/')).toBe(pathOf('d'));
  expect(await at('/b/')).toBeNull();
  expect(await at('/f/')).toBe(pathOf('f'));
  expect(await duplicates()).toEqual([]);
  expect(made.sort()).toEqual(['a', 'd'].map(pathOf));
});

it('makes them out again under other routes', async () => {
  await write({ [pathOf('a')]: post('/a/'), [pathOf('f')]: post('/f/') });
  await (await look()).at('/a/');
  made = [];
  routes = countedRoutes('others');
  await (await look()).at('/a/');
  expect(made).toContain(pathOf('f'));
});

it('reports the same after any changes as when all is read anew', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const change = fc.dictionary(
    fc.constantFrom(...names),
    fc.option(fc.constantFrom('/1/', '/2/', '/3/'), { nil: null }),
    { minKeys: 1 },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
      for (const given of changes) {
        await write(Object.fromEntries(Object.entries(given).map(([name, url]) => [pathOf(name), url && post(url)])));
        const { duplicates, at } = await look();
        const known = [await duplicates(), await Promise.all(['/1/', '/2/', '/3/'].map(at))];
        const usual = routes;
        routes = countedRoutes(`anew ${++number}`);
        const anew = [await duplicates(), await Promise.all(['/1/', '/2/', '/3/'].map(at))];
        routes = usual;
        expect(known).toEqual(anew);
      }
    }),
    { numRuns: 25 },
  );
});

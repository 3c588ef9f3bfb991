import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copySite, fixtureSites } from './support/routes/fixture-sites.ts';
import { buildAndJudge } from './support/routes/real-build.ts';

const repository = resolve(import.meta.dirname, '..');
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'portico-routes-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** Builds a fixture site, with settings before its own. */
async function built(name: 'hugo' | 'hugo-layers' | 'jekyll' | 'mkdocs', settings = '') {
  const copy = await copySite(fixtureSites[name], repository, home);
  const config = { hugo: 'hugo.toml', 'hugo-layers': '', jekyll: '_config.yml', mkdocs: 'mkdocs.yml' }[name];
  if (settings !== '') {
    const file = join(copy.directory, config);
    await writeFile(file, `${settings}\n${await readFile(file, 'utf8')}`);
  }
  return buildAndJudge(copy);
}

describe('Hugo writes the pages that were predicted', () => {
  it('with permalinks, bundles and languages', async () => {
    const found = await built('hugo');
    expect(found).toMatchObject({ framework: 'hugo', wrong: [], unknown: [] });
    expect(found.right.length).toBeGreaterThan(30);
  });

  it('with addresses that end in .html, capital letters and a language in every address', async () => {
    const found = await built(
      'hugo',
      'uglyURLs = true\ndisablePathToLower = true\ndefaultContentLanguageInSubdir = true',
    );
    expect(found).toMatchObject({ framework: 'hugo', wrong: [], unknown: [] });
    expect(found.right.length).toBeGreaterThan(30);
  });

  it('from layers of configuration, mounts, what sections hand down, and languages with settings', async () => {
    const found = await built('hugo-layers');
    expect(found).toMatchObject({ framework: 'hugo', wrong: [], unknown: [] });
    expect(found.right.length).toBeGreaterThan(18);
  });
});

describe('Jekyll writes the pages that were predicted', () => {
  it.each(['date', 'pretty', 'none', 'ordinal', 'weekdate', '/blog/:year-:short_month-:i_day/:slug/', '/p/:title'])(
    'with permalink %s',
    async (permalink) => {
      const found = await built('jekyll', `permalink: ${permalink}`);
      expect(found).toMatchObject({ framework: 'jekyll', wrong: [], unknown: [] });
      expect(found.right.length).toBeGreaterThan(25);
    },
  );

  it('with documents before their date, in a time zone of its own', async () => {
    const found = await built('jekyll', 'future: true\ntimezone: America/New_York');
    expect(found).toMatchObject({ framework: 'jekyll', wrong: [], unknown: [], held: [] });
    expect(found.right.length).toBeGreaterThan(33);
  });
});

describe('MkDocs writes the pages that were predicted', () => {
  it.each([true, false])('with a directory for each page: %s', async (directories) => {
    const found = await built('mkdocs', `use_directory_urls: ${directories}`);
    expect(found).toMatchObject({ framework: 'mkdocs', wrong: [], unknown: [] });
    expect(found.right.length).toBeGreaterThan(14);
  });
});

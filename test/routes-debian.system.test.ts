import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { build, compare, writeSite } from './support/routes/real-build.ts';
import { hugoMade, hugoSite } from './support/routes/sites/hugo.ts';
import { hugoLayers, hugoLayersMade } from './support/routes/sites/hugo-layers.ts';
import { jekyllMade, jekyllSite } from './support/routes/sites/jekyll.ts';
import { mkdocsSite } from './support/routes/sites/mkdocs.ts';

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'portico-routes-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

async function site(name: string, files: Record<string, string>): Promise<string> {
  const directory = join(home, name);
  await writeSite(directory, files);
  return directory;
}

describe('Hugo writes the pages that were predicted', () => {
  it('with permalinks, bundles and languages', async () => {
    const directory = await site('hugo', hugoSite);
    await build(directory, 'hugo', '--quiet');
    const found = await compare(directory, 'public', hugoMade);
    expect(found).toMatchObject({ framework: 'hugo', missing: [], unpredicted: [] });
    expect(found.predicted).toBeGreaterThan(30);
  });

  it('with addresses that end in .html, capital letters and a language in every address', async () => {
    const config = hugoSite['hugo.toml'] ?? '';
    const settings = 'uglyURLs = true\ndisablePathToLower = true\ndefaultContentLanguageInSubdir = true\n';
    const directory = await site('hugo-ugly', { ...hugoSite, 'hugo.toml': settings + config });
    await build(directory, 'hugo', '--quiet');
    const made =
      /^((en|fr)\/)?((tags|categories|page|posts|news|titled|chapters|logs|docs)(\/.*)?(\.html)|index\.html)$/;
    const found = await compare(directory, 'public', made);
    expect(found).toMatchObject({ framework: 'hugo', missing: [], unpredicted: [] });
  });

  it('from layers of configuration, mounts, what sections hand down, and languages with settings', async () => {
    const directory = await site('hugo-layers', hugoLayers);
    await build(directory, 'hugo', '--quiet');
    const found = await compare(directory, 'public', hugoLayersMade);
    expect(found).toMatchObject({ framework: 'hugo', missing: [], unpredicted: [] });
    expect(found.predicted).toBeGreaterThan(18);
  });
});

describe('Jekyll writes the pages that were predicted', () => {
  it.each(['date', 'pretty', 'none', 'ordinal', 'weekdate', '/blog/:year-:short_month-:i_day/:slug/', '/p/:title'])(
    'with permalink %s',
    async (permalink) => {
      const config = `permalink: ${permalink}\n${jekyllSite['_config.yml']}`;
      const directory = await site(`jekyll-${permalink.replace(/\W/g, '')}`, { ...jekyllSite, '_config.yml': config });
      await build(directory, 'jekyll', 'build', '--quiet');
      const found = await compare(directory, '_site', jekyllMade);
      expect(found).toMatchObject({ framework: 'jekyll', missing: [], unpredicted: [] });
      expect(found.predicted).toBeGreaterThan(25);
    },
  );

  it('with documents before their date, in a time zone of its own', async () => {
    const config = `future: true\ntimezone: America/New_York\n${jekyllSite['_config.yml']}`;
    const directory = await site('jekyll-future', { ...jekyllSite, '_config.yml': config });
    await build(directory, 'jekyll', 'build', '--quiet');
    const found = await compare(directory, '_site', jekyllMade);
    expect(found).toMatchObject({ framework: 'jekyll', missing: [], unpredicted: [] });
    expect(found.predicted).toBeGreaterThan(33);
  });
});

describe('MkDocs writes the pages that were predicted', () => {
  it.each([true, false])('with a directory for each page: %s', async (directories) => {
    const config = `use_directory_urls: ${directories}\n${mkdocsSite['mkdocs.yml']}`;
    const directory = await site(`mkdocs-${directories}`, { ...mkdocsSite, 'mkdocs.yml': config });
    await build(directory, 'mkdocs', 'build', '--quiet');
    const found = await compare(directory, 'site', /^404\.html$/);
    expect(found).toMatchObject({ framework: 'mkdocs', missing: [], unpredicted: [] });
    expect(found.predicted).toBeGreaterThan(14);
  });
});

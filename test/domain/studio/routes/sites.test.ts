import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { copyFiles, fixtureSites } from '../../../support/routes/fixture-sites.ts';
import { predictedIn } from '../../../support/routes/real-build.ts';

const repository = resolve(import.meta.dirname, '../../../..');

/** The address of every file that has one: what the framework itself made of it, see `npm run bench -- sites`. */
const expectedOf = async (name: string): Promise<Record<string, string>> =>
  JSON.parse(await readFile(join(repository, 'test/sites', `${name}.json`), 'utf8'));

describe('every file of a fixture site has the address its framework gives it, or none', () => {
  it.each(Object.values(fixtureSites))('$name', async (site) => {
    const directory = await mkdtemp(join(tmpdir(), 'portico-site-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    await copyFiles(site, repository, directory);
    const { routes, urls, aliases } = await predictedIn(directory);
    expect(routes.detected.framework?.id).toBe(site.framework);
    expect(Object.fromEntries(urls)).toEqual(await expectedOf(site.name));
    expect(Object.fromEntries(aliases)).toEqual(
      site.name.startsWith('hugo') ? await expectedOf(`${site.name}-aliases`) : {},
    );
  });
});

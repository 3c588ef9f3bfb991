import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { filesBelow, type Judgement, judge, markSources, readPages } from '../test/support/routes/built-pages.ts';
import { copySite, type FixtureSite, fixtureSites, type SiteCopy } from '../test/support/routes/fixture-sites.ts';
import { predictedIn } from '../test/support/routes/real-build.ts';
import { type Bench, type Benchmark, type Case, check, timedCase } from './benchmark.ts';
import { explainCorpus } from './corpus-sites.ts';
import { pagedSite } from './routes.ts';
import { type Client, createClient } from './support/client.ts';
import { pathOf } from './support/content.ts';
import { makeFixture } from './support/fixture.ts';
import { type Repository, repositoriesDirectory, repositoryOf } from './support/repositories.ts';
import { root, startServer } from './support/server.ts';

/** A site that is ready to be built, and the repository a person would import it from. */
interface PreparedSite {
  site: FixtureSite;
  copy: SiteCopy;
  marks: ReadonlyMap<string, number>;
  repository: Repository;
}

async function prepare(site: FixtureSite, { defer, say }: Bench): Promise<PreparedSite> {
  say(`${site.name}: what it needs is installed, unless it is there`);
  const copy = await copySite(site, root, path.join(repositoriesDirectory, 'sites'));
  defer(copy.remove);
  const marks = await markSources(copy.directory);
  const read = async (name: string) => ({ path: name, content: await readFile(path.join(copy.directory, name)) });
  const files = await Promise.all((await filesBelow(copy.directory)).map(read));
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file.path}\0`).update(file.content);
  const name = `site-of-${site.name}-${hash.digest('hex').slice(0, 16)}`;
  return { site, copy, marks, repository: await repositoryOf(name, () => [{ branch: 'main', files }]) };
}

/** What Portico says of a site: its entries by their paths, each with its address. */
async function importedSite({ send }: Client, studio: string) {
  const json = async (at: string, options?: object) => JSON.parse((await send(studio + at, options)).body.toString());
  const detected: { framework: { id: string } | null; base: string; warnings: { message: string; path?: string }[] } =
    await json('/route-patterns/detect', { method: 'POST', body: { save: true } });
  const entries = new Map<string, string | undefined>();
  for (const { name } of (await json('/collections')) as { name: string }[]) {
    for (let page = 1, more = true; more; page += 1) {
      const list: { path: string; url?: string }[] = await json(`/collections/${name}?per_page=100&page=${page}`);
      for (const entry of list) entries.set(entry.path, entry.url);
      more = list.length === 100;
    }
  }
  return { ...detected, entries };
}

interface Result extends Judgement {
  name: string;
  version: string;
  warnings: { message: string; path?: string }[];
}

/** Builds a site with its framework, and compares every page with the address that Portico gives to the entry it was made of. */
async function compare({ site, copy, marks }: PreparedSite, client: Client, studio: string): Promise<Result> {
  const { framework, base, entries, warnings } = await importedSite(client, studio);
  check(framework?.id === site.framework, `${site.name} is taken for ${framework?.id}`);
  // Templates are no entries; Markdown that the build makes a page of has to be one.
  const judged = new Map([...marks].filter(([file]) => entries.has(file) || /\.(mdx?|markdown)$/.test(file)));
  const { held, aliases } = await predictedIn(copy.directory, judged.keys());
  await copy.build();
  const urls = new Map([...entries].flatMap(([file, url]) => (url === undefined ? [] : [[file, url] as const])));
  const found = judge(judged, await readPages(copy.output), {
    base,
    urls,
    aliases,
    isHeld: (file) => held.has(file),
  });
  return { ...found, name: site.name, version: (await copy.version()) ?? '', warnings };
}

const casesOf = ({ name, version, right, wrong, unknown }: Result): Case[] => {
  const pages = right.length + wrong.length + unknown.length;
  const counts = `${pages} entries with a page, ${right.length} right, ${wrong.length} wrong, ${unknown.length} unknown`;
  const share = pages === 0 ? Number.NaN : (right.length / pages) * 100;
  return [
    { name: `${name} ${version}: ${counts}`, unit: '%', value: share, atLeast: 98 },
    { name: `${name}: wrong addresses`, unit: '', value: wrong.length, atMost: 0 },
  ];
};

const notesOf = ({ name, wrong, unknown, held, warnings }: Result): string[] => [
  ...wrong.map((text) => `${name}: wrong: ${text}`),
  ...unknown.map((text) => `${name}: unknown: ${text}`),
  ...(held.length > 0 ? [`${name}: not due, so not built: ${held.join(', ')}`] : []),
  ...warnings.map(({ message, path: file }) => `${name}: warning: ${message}${file ? ` (${file})` : ''}`),
];

/** Detection by a new process, and after commits that touch no configuration. */
async function detectionCases(bench: Bench): Promise<Case[]> {
  const site = { posts: bench.scaled(3_000), directories: 20 };
  const source = await repositoryOf(`routes-${site.posts}-${site.directories}`, () => [
    { branch: 'main', files: pagedSite(site) },
  ]);
  const fixture = await makeFixture(await bench.directory(), { first: source, second: source, third: source });
  const [first, after]: number[][] = [[], []];
  for (const { studio } of Object.values(fixture.projects)) {
    const server = await startServer(fixture);
    bench.defer(server.stop);
    const client = createClient(server.url, fixture.token);
    bench.defer(client.close);
    await client.send(`${studio}/branches`);
    const detect = async () =>
      (await client.send(`${studio}/route-patterns/detect`, { method: 'POST', body: {} })).milliseconds;
    first?.push(await detect());
    for (let number = 0; number < 5; number += 1) {
      const slug = pathOf(number, site).slice('src/content/posts/'.length, -'.md'.length);
      const body = { frontmatter: { title: `Changed ${number}` }, message: 'Change a title' };
      await client.send(`${studio}/collections/posts/${slug}`, { method: 'PUT', body });
      after?.push(await detect());
    }
    client.close();
    await server.stop();
  }
  return [
    timedCase(`detection of ${site.posts} files, new process`, first ?? [], { atMost: 1_500 }),
    timedCase('detection after a commit of an entry', after ?? [], { atMost: 50 }),
  ];
}

/** Whether the addresses of entries are those that frameworks give them. */
export const sites: Benchmark = {
  name: 'sites',
  summary: 'Addresses of every entry of the sites in test/sites, beside the pages their frameworks build.',
  minutes: 30,
  async run(bench) {
    if (bench.corpus !== null) return explainCorpus(bench.corpus, bench);
    const wanted = Object.values<FixtureSite>(fixtureSites).filter(({ name }) => name.includes(bench.only ?? ''));
    const prepared: PreparedSite[] = [];
    for (const site of wanted) prepared.push(await prepare(site, bench));
    const repositories = Object.fromEntries(prepared.map(({ site, repository }) => [site.name, repository]));
    const fixture = await makeFixture(await bench.directory(), repositories);
    const server = await startServer(fixture);
    bench.defer(server.stop);
    const client = createClient(server.url, fixture.token);
    bench.defer(client.close);
    const results: Result[] = [];
    for (const one of prepared) {
      results.push(await compare(one, client, fixture.projects[one.site.name]?.studio ?? ''));
      bench.say(`${one.site.name}: built and compared`);
    }
    client.close();
    await server.stop();
    const cases = [...results.flatMap(casesOf), ...(await detectionCases(bench))];
    return { cases, notes: results.flatMap(notesOf) };
  },
};

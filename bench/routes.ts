import { type Bench, type Benchmark, check, timedCase } from './benchmark.ts';
import { createClient } from './support/client.ts';
import { type ContentFile, type Site, siteFiles } from './support/content.ts';
import { type Fixture, makeFixture } from './support/fixture.ts';
import { repositoryOf } from './support/repositories.ts';
import { startServer } from './support/server.ts';

const template = `---
import { getCollection } from 'astro:content';
export async function getStaticPaths() {
  const posts = await getCollection('posts', ({ data }) => !data.draft);
  return posts.map((post) => ({ params: { slug: post.id } }));
}
---
`;

/** A site whose posts have pages. */
export function* pagedSite(site: Site): Generator<ContentFile> {
  yield* siteFiles(site);
  yield { path: 'astro.config.mjs', content: Buffer.from("export default { site: 'https://example.org' };\n") };
  yield { path: 'src/pages/posts/[...slug].astro', content: Buffer.from(template) };
}

/** Detection by a new process, again, and with the patterns kept; then a page of entries with their addresses. */
async function measureOne({ defer }: Bench, fixture: Fixture<string>, studio: string): Promise<number[]> {
  const server = await startServer(fixture);
  defer(server.stop);
  const client = createClient(server.url, fixture.token);
  defer(client.close);
  // The credential is looked up beforehand: what is measured is the detection.
  await client.send(`${studio}/branches`);
  const detect = (body: object) => client.send(`${studio}/route-patterns/detect`, { method: 'POST', body });
  const cold = await detect({});
  const { patterns } = JSON.parse(cold.body.toString());
  check(patterns[0]?.url_pattern === '/posts/{slug}/', `The pattern is ${JSON.stringify(patterns)}`);
  const again = await detect({});
  await detect({ save: true });
  await client.send(`${studio}/collections/posts?sort=title`);
  const listed = await client.send(`${studio}/collections/posts?sort=-date&page=2`);
  check(listed.body.includes('"url":"/posts/'), 'The entries have no address');
  client.close();
  await server.stop();
  return [cold.milliseconds, again.milliseconds, listed.milliseconds];
}

/** Finding out where a site publishes its entries. */
export const routes: Benchmark = {
  name: 'routes',
  summary: 'Detection of route patterns in a repository of 15,000 files, and a list with addresses.',
  async run(bench) {
    const site = { posts: bench.scaled(15_000), directories: 50 };
    const source = await repositoryOf(`routes-${site.posts}`, () => [{ branch: 'main', files: pagedSite(site) }]);
    const fixture = await makeFixture(await bench.directory(), { first: source, second: source, third: source });
    const samples: number[][] = [];
    for (const { studio } of Object.values(fixture.projects)) samples.push(await measureOne(bench, fixture, studio));
    const column = (at: number) => samples.map((sample) => sample[at] ?? Number.NaN);
    return {
      cases: [
        timedCase('detection, new process, content never seen', column(0), { atMost: 1_000 }),
        timedCase('detection again', column(1)),
        timedCase('page of a list with addresses', column(2)),
      ],
      notes: [
        `${site.posts} entries of one collection in ${site.directories} directories; over HTTP from another process.`,
      ],
    };
  },
};

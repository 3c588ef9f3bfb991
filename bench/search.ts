import { type Benchmark, type Case, check, timedCase } from './benchmark.ts';
import { createClient } from './support/client.ts';
import { postOf, wordOf } from './support/content.ts';
import { makeFixture } from './support/fixture.ts';
import { untilIndexed } from './support/indexed.ts';
import { listPath, repeat, totalOf } from './support/listing.ts';
import { siteRepository } from './support/repositories.ts';
import { startServer } from './support/server.ts';
import { quantile, seeded, timed } from './support/statistics.ts';
import { runGit } from './support/stock-git.ts';

type Words = readonly string[];

/** The words of an entry's values and body; what the keys are called is not searched. */
function searchable(post: string): string {
  const end = post.indexOf('\n---\n', 3);
  return (post.slice(4, end).replace(/^\w+:( true$| false$)?/gm, '') + post.slice(end + 4)).toLowerCase();
}

/** One pattern for each word: all are whole but the last, which an entry's word may go on from. */
const patternsOf = (words: Words) => words.map((word, at) => `\\b${word}${at < words.length - 1 ? '\\b' : ''}`);

function scan(texts: readonly string[], words: Words): number {
  const patterns = patternsOf(words).map((pattern) => new RegExp(pattern));
  return texts.filter((text) => patterns.every((pattern) => pattern.test(text))).length;
}

async function gitGrep(gitDir: string, words: Words): Promise<void> {
  const patterns = patternsOf(words).flatMap((pattern) => ['-e', pattern]);
  await runGit(gitDir, ['grep', '-l', '-i', '-P', '--all-match', ...patterns, 'main', '--', 'src/content'], {
    accept: 1,
  });
}

/** Queries of a kind, none twice: the words of one are drawn from ranks `from` to `to`. */
function queriesOf(
  count: number,
  [length, from, to, cut]: readonly [number, number, number, number?],
  seed: number,
): Words[] {
  const random = seeded(seed);
  const draw = () => wordOf(from + Math.floor(random() * (to - from)));
  const all = new Map<string, Words>();
  while (all.size < count) {
    const words = Array.from({ length }, draw);
    const last = words.at(-1) ?? '';
    const query = [...words.slice(0, -1), last.slice(0, cut ?? last.length)];
    all.set(query.join(' '), query);
  }
  return [...all.values()];
}

/** How many words, the ranks they are drawn from, and how much of the last one is typed. */
const kinds = {
  'one rare word': [1, 5_000, 25_000],
  'one common word': [1, 8, 80],
  'the beginning of a word': [1, 100, 2_000, 4],
  'two words': [2, 8, 400],
  'three words': [3, 8, 200],
} as const;

/** Full-text search as an editor types: every query is new to the server. */
export const search: Benchmark = {
  name: 'search',
  summary: 'Full-text search over 10,000 entries, 1 to 3 words, beside `git grep` and a scan of all texts in memory.',
  async run(bench) {
    const site = { posts: bench.scaled(10_000), directories: 0 };
    const texts = Array.from({ length: site.posts }, (_, number) => searchable(postOf(number)));
    const fixture = await makeFixture(await bench.directory(), { site: await siteRepository(site) });
    const { studio, gitDir } = fixture.projects.site;
    const server = await startServer(fixture);
    bench.defer(server.stop);
    const client = createClient(server.url, fixture.token);
    bench.defer(client.close);
    const find = (words: Words) => client.send(listPath(studio, `q=${words.join('+')}`));
    bench.say('the server runs');
    const cases: Case[] = [];
    const first = await timed(() => find(['mulberry']));
    const indexed = await untilIndexed(fixture.dataDir, site.posts);
    bench.say('all words are stored');
    for (const [at, [name, kind]] of Object.entries(kinds).entries()) {
      const [warming = [], ...queries] = queriesOf(1 + bench.scaled(30, 5), kind, at);
      await find(warming);
      const scanned: number[] = [];
      const grepped: number[] = [];
      const found: number[] = [];
      const { waited } = await repeat(queries.length, server, async (turn) => {
        const words = queries[turn] ?? [];
        const answer = await find(words);
        let count = 0;
        scanned.push(await timed(async () => (count = scan(texts, words))));
        check(totalOf(answer) === count, `${words.join(' ')}: ${totalOf(answer)} in place of ${count} entries`);
        found.push(count);
        if (turn < bench.scaled(5)) grepped.push(await timed(() => gitGrep(gitDir, words)));
        return answer;
      });
      const beside = { 'scan of texts in memory': scanned, '`git grep` per call': grepped };
      const hits = `${quantile(found, 0)} to ${quantile(found, 1)} hits`;
      cases.push(timedCase(`${name}, ${hits}`, waited, { beside, atMost: 30 }));
      bench.say(`${name}: measured`);
    }
    cases.push({ name: 'the very first search of a new repository', unit: 'ms', value: first });
    cases.push({ name: 'and from then until all words are stored', unit: 'ms', value: indexed });
    const bytes = texts.reduce((sum, text) => sum + text.length, 0) / texts.length;
    return {
      cases,
      notes: [
        `${site.posts} entries of ${Math.round(bytes)} bytes on average, words as frequent as in a language; each query is requested once, its number of hits compared with the scan's.`,
        'Over HTTP with the token checked; the aim is 15 ms.',
      ],
    };
  },
};

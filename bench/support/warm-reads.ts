import { type Bench, type Case, check, timedCase } from '../benchmark.ts';
import type { Client } from './client.ts';
import { spawningCommitter } from './committers.ts';
import { pathOf, postOf, type Site, slugOf } from './content.ts';
import type { Project } from './fixture.ts';
import { getList, itemsOf, listPath, lists, perPage, repeat, totalOf } from './listing.ts';
import type { RunningServer } from './server.ts';
import { seeded, timed } from './statistics.ts';
import { runGit } from './stock-git.ts';

/** Pages of a branch that differs in one file and was made by git itself, so that the server was not notified. */
async function newBranches(bench: Bench, client: Client, { studio, gitDir }: Project, site: Site): Promise<number[]> {
  const samples: number[] = [];
  for (let at = 0; at < bench.scaled(10, 3); at += 1) {
    const branch = `branch-${at}`;
    await runGit(gitDir, ['branch', branch, 'main']);
    const changed = Buffer.from(postOf(at).replace(/^title: .*$/m, `title: "000 on branch ${at}"`));
    await spawningCommitter(gitDir, branch)(pathOf(at, site), changed, `Change ${at}`);
    const answer = await getList(client, listPath(studio, `branch=${branch}&sort=title`), site.posts);
    check(itemsOf(answer)[0]?.frontmatter.title === `000 on branch ${at}`, 'The changed entry is not the first');
    samples.push(answer.milliseconds);
  }
  return samples;
}

/** What a reader gets from a server that has seen the content once. */
export async function warmCases(
  bench: Bench,
  [server, client]: [RunningServer, Client],
  project: Project,
  site: Site,
): Promise<Case[]> {
  const { studio, gitDir } = project;
  const random = seeded(7);
  const below = (limit: number) => Math.floor(random() * limit);
  const path = (list: string, page?: number) => listPath(studio, list, page);
  await getList(client, path('sort=size'), site.posts);
  const pages = new Map<string, number>();
  const fresh = await repeat(lists.length, server, async (at) => {
    const answer = await client.send(path(lists[at] ?? ''));
    pages.set(lists[at] ?? '', Math.ceil(totalOf(answer) / perPage));
    return answer;
  });
  const known = await repeat(bench.scaled(1_000), server, () => {
    const list = lists[below(lists.length)] ?? '';
    return client.send(path(list, 1 + below(pages.get(list) ?? 1)));
  });
  const tagged = path(lists[0] ?? '', 2);
  const { headers } = await client.send(tagged);
  const condition = { headers: { 'if-none-match': headers.etag ?? '' }, expect: 304 };
  const unchanged = await repeat(bench.scaled(300), server, () => client.send(tagged, condition));
  const entry = await repeat(bench.scaled(500), server, async () => {
    const number = below(site.posts);
    const answer = await client.send(`${studio}/collections/posts/${slugOf(number, site)}`);
    check(postOf(number).endsWith(JSON.parse(answer.body.toString('utf8')).body), `Entry ${number} came out wrong`);
    return answer;
  });
  const floor = await repeat(bench.scaled(300), server, () => client.send('/healthz'));
  const filetree = await repeat(bench.scaled(10), server, () => client.send(`${studio}/filetree`));
  const show: number[] = [];
  for (let at = 0; at < bench.scaled(50); at += 1) {
    const file = pathOf(below(site.posts), site);
    show.push(await timed(() => runGit(gitDir, ['show', `main:${file}`])));
  }
  const listed: number[] = [];
  for (let at = 0; at < bench.scaled(10); at += 1) {
    listed.push(await timed(() => runGit(gitDir, ['ls-tree', '-r', '-l', '-z', 'main'])));
  }
  const large = site.posts > 10_000;
  const beside = { 'GET /healthz': floor.waited };
  return [
    timedCase(`page of ${perPage}, sorted and filtered, order known`, known.waited, { atMost: large ? 8 : 5, beside }),
    timedCase('the same, time of the server alone', known.took, { atMost: 2, beside: { 'GET /healthz': floor.took } }),
    timedCase('page in a new order', fresh.waited, { beside }),
    timedCase('page, If-None-Match, 304', unchanged.waited, { atMost: 2, beside }),
    timedCase('first page on a new branch, one file changed', await newBranches(bench, client, project, site), {
      atMost: 30,
    }),
    timedCase('one entry', entry.waited, { atMost: 5, beside: { ...beside, '`git show` per call': show } }),
    timedCase('file tree with sizes', filetree.waited, { beside: { '`git ls-tree -r -l` per call': listed } }),
  ];
}

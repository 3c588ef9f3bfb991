import { expect, test } from 'vitest';
import { fsck, git } from '../support/git-store.ts';
import { demoStudio, type RestClient, restClient } from '../support/rest-client.ts';
import { twoServers } from '../support/two-servers.ts';

const posts = `${demoStudio}/collections/posts`;
const frontmatter = { title: 'Race', description: 'At once', date: '2026-01-01', author: 'mirabel-osk' };
const draft = (slug: string) => ({ slug, frontmatter, body: 'First\n' });
const writers = 16;
const rounds = 4;

/** A client of each server. */
async function clients() {
  const { one, other, owner, gitDir } = await twoServers();
  return { gitDir, rests: [one, other].map(({ url }) => restClient(url, owner.text)) as [RestClient, RestClient] };
}

const commits = (gitDir: string) => git(gitDir, ['rev-list', 'HEAD']).split('\n');

test('16 writers at each of two servers, on the same, adjacent and distant files: none is refused, every save is in the history', async () => {
  const { gitDir, rests } = await clients();
  const [one] = rests;
  for (const slug of ['en/same', ...Array.from({ length: writers }, (_, at) => `en/near-${at}`)])
    expect((await one.send('POST', posts, draft(slug))).status).toBe(201);
  const before = commits(gitDir).length;
  const target = (writer: number) => ['same', `near-${writer}`, `far-${writer}`][writer % 3] ?? '';
  const saved = await Promise.all(
    rests.flatMap((rest, server) =>
      Array.from({ length: writers }, async (_, writer) => {
        const made: string[] = [];
        for (let round = 0; round < rounds; round += 1) {
          const name = target(writer);
          const body = `Round ${round} of ${writer} at ${server}\n`;
          const answer = name.startsWith('far')
            ? await rest.send('POST', posts, { ...draft(`en/d${writer}/${server}-${round}`), body })
            : await rest.send('PUT', `${posts}/en/${name}`, { body });
          expect([200, 201], JSON.stringify(answer.body)).toContain(answer.status);
          made.push(answer.headers.get('x-commit-sha') ?? '');
        }
        return made;
      }),
    ),
  );
  const history = commits(gitDir);
  expect(new Set(saved.flat()).size).toBe(2 * writers * rounds);
  expect(saved.flat().filter((sha) => !history.includes(sha))).toEqual([]);
  expect(history).toHaveLength(before + 2 * writers * rounds);
  fsck(gitDir);
});

/** Sends one request to each server at once, over and over on fresh entries; exactly one of each pair may succeed. */
async function duel(
  prepare: (rest: RestClient, slug: string) => Promise<string>,
  moves: [Move, Move],
  check: (winner: number, rest: RestClient, slug: string) => Promise<void>,
): Promise<void> {
  const { gitDir, rests } = await clients();
  for (let round = 0; round < 8; round += 1) {
    const slug = `en/duel-${round}`;
    const etag = await prepare(rests[0], slug);
    const sides = round % 2 === 0 ? rests : ([rests[1], rests[0]] as const);
    const answers = await Promise.all(moves.map((move, at) => move(sides[at] as RestClient, slug, etag)));
    const won = answers.map(({ status }) => status >= 200 && status < 300);
    expect(won.filter(Boolean), JSON.stringify(answers)).toHaveLength(1);
    for (const { status } of answers) expect([200, 201, 204, 404, 409, 412]).toContain(status);
    for (const rest of rests) await check(won.indexOf(true), rest, slug);
  }
  fsck(gitDir);
}

type Move = (rest: RestClient, slug: string, etag: string) => ReturnType<RestClient['send']>;

const makePost = async (rest: RestClient, slug: string) =>
  (await rest.send('POST', posts, draft(slug))).headers.get('etag') ?? '';
const update: Move = (rest, slug, etag) =>
  rest.send('PUT', `${posts}/${slug}`, { body: 'Second\n' }, { 'If-Match': etag });
const remove: Move = (rest, slug, etag) => rest.send('DELETE', `${posts}/${slug}`, {}, { 'If-Match': etag });
const rename: Move = (rest, slug, etag) =>
  rest.send('PUT', `${posts}/${slug}`, { slug: `${slug}-moved` }, { 'If-Match': etag });

test('of an update and a deletion of the same version one happens', () =>
  duel(makePost, [update, remove], async (winner, rest, slug) => {
    const { status, body } = await rest.get(`${posts}/${slug}`);
    expect([status, body.body]).toEqual(winner === 0 ? [200, 'Second\n'] : [404, undefined]);
  }));

test('of an update and a rename of the same version one happens', () =>
  duel(makePost, [update, rename], async (winner, rest, slug) => {
    const [here, there] = [await rest.get(`${posts}/${slug}`), await rest.get(`${posts}/${slug}-moved`)];
    expect([here.status, there.status]).toEqual(winner === 0 ? [200, 404] : [404, 200]);
    expect((winner === 0 ? here : there).body.body).toBe(winner === 0 ? 'Second\n' : 'First\n');
  }));

test('of two merges of one pull request one happens', () => {
  const merge: Move = (rest, _slug, number) => rest.send('POST', `${demoStudio}/pulls/${number}/merge`, {});
  return duel(
    async (rest, slug) => {
      const head = slug.replace('/', '-');
      expect((await rest.send('POST', `${demoStudio}/branches`, { name: head })).status).toBe(201);
      expect((await rest.send('POST', posts, { ...draft(slug), branch: head })).status).toBe(201);
      const { body } = await rest.send('POST', `${demoStudio}/pulls`, { title: 'Duel', head });
      return String(body.number);
    },
    [merge, merge],
    async (_winner, rest, slug) => expect((await rest.get(`${posts}/${slug}`)).status).toBe(200),
  );
});

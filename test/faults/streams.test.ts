import { expect, it } from 'vitest';
import { openStream } from '../support/event-stream.ts';
import { twoServers } from '../support/two-servers.ts';

const studio = '/api/v2/organizations/demo/projects/site/studio';
const query = (after: string) =>
  `subscription { branchMoved(organization: "demo", project: "site", branch: "live", after: "${after}") { sha paths } }`;

async function send(url: string, token: string, method: string, path: string, body: object) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect([200, 201]).toContain(response.status);
  return (await response.json()) as { commit: { sha: string } };
}

let made = 0;
/** Commits to the branch through one server. @returns the commit */
async function commit(url: string, token: string): Promise<string> {
  made += 1;
  const action = {
    op: 'upload_media',
    path: `public/live-${made}.txt`,
    content: Buffer.from(`${made}`).toString('base64'),
  };
  const { commit: done } = await send(url, token, 'POST', `${studio}/changes`, { branch: 'live', actions: [action] });
  return done.sha;
}

it('streams report what other processes do, go on at another one, and end with the token', async () => {
  const { one, other, owner, reader } = await twoServers();
  await send(one.url, owner.text, 'POST', `${studio}/branches`, { name: 'live' });
  const stream = await openStream(other.url, reader.text, query('0'));
  expect((await stream.next())?.data.data.branchMoved.paths).toBeNull();
  const first = await commit(one.url, owner.text);
  const event = await stream.next();
  expect(event?.data.data.branchMoved).toEqual({ sha: first, paths: ['public/live-1.txt'] });

  // Everything after the cut is there at the other server, once.
  stream.close();
  const missed = [await commit(other.url, owner.text), await commit(one.url, owner.text)];
  const again = await openStream(one.url, reader.text, query(event?.id ?? ''));
  // Commits that come close together share one event.
  const paths: string[] = [];
  for (let sha = ''; sha !== missed.at(-1); ) {
    const moved = (await again.next())?.data.data.branchMoved;
    sha = moved.sha;
    paths.push(...moved.paths);
  }
  expect(paths).toEqual(['public/live-2.txt', 'public/live-3.txt']);

  await send(other.url, owner.text, 'DELETE', `/api/v2/organizations/demo/tokens/${reader.id}`, {});
  expect((await again.next())?.data.errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
  expect((await again.next())?.event).toBe('complete');
});

it('a server that stops ends its streams so that clients come back', async () => {
  const { one, owner } = await twoServers();
  await send(one.url, owner.text, 'POST', `${studio}/branches`, { name: 'live' });
  const stream = await openStream(one.url, owner.text, query('0'));
  await stream.next();
  const stopped = one.stop();
  const comments: string[] = [];
  for (let said = await stream.comment(); said !== null; said = await stream.comment()) comments.push(said);
  expect(comments.at(-1)).toBe(': to be continued');
  expect((await stopped).code).toBe(0);
});

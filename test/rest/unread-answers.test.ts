import { connect } from 'node:net';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { answerMemory } from '../../src/kernel/answer-memory.ts';
import { DomainError } from '../../src/kernel/errors.ts';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';

const mebibyte = 1024 * 1024;
const size = 20 * mebibyte;
const app = shared(startTestApp);
let reader: string;
beforeAll(async () => {
  reader = await app.makeToken(['browse_studio']);
  await seed(app, {
    'large.bin': Buffer.alloc(size),
    'small.txt': 'x',
    'a/b/c.txt': 'x',
    'content/posts/long.md': `---\ntitle: Long\n---\n${'x'.repeat(mebibyte)}`,
    'quotes.txt': '"'.repeat(mebibyte),
  });
});
afterEach(() => vi.restoreAllMocks());

const noRoom = () => new DomainError('unavailable', 'no room');
const file = (path: string) => `${studio}/file?path=${path}&raw=true`;

/** Requests a file and reads nothing of the answer but its status, which tells that the file was read. */
function requestUnread(): { status: Promise<string>; end: () => void } {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(`GET ${file('large.bin')} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${reader}\r\n\r\n`);
  const status = new Promise<string>((resolve) => {
    socket.once('readable', () => resolve(String(socket.read(12)).slice(9)));
  });
  return { status, end: () => socket.destroy() };
}

describe('large answers that a client does not read', () => {
  it('keep its further ones waiting, before they are read, and no other caller', async () => {
    const unread = Array.from({ length: 9 }, requestUnread);
    let answered = 0;
    for (const { status } of unread) void status.then(() => (answered += 1));
    await expect.poll(() => answered).toBe(6);
    expect((await app.ask('GET', file('small.txt'), { token: reader })).status).toBe(200);
    expect((await app.ask('GET', file('large.bin'))).status).toBe(200);
    expect(answered).toBe(6);
    for (const { end } of unread.slice(0, 3)) end();
    await expect.poll(() => answered).toBeGreaterThanOrEqual(6 + 1);
    for (const { end } of unread) end();
  });

  it('are refused while there is no room, as files, as records and over GraphQL', async () => {
    vi.spyOn(answerMemory, 'take').mockRejectedValue(noRoom());
    expectRefusal(await app.ask('GET', file('large.bin')), 503, 'unavailable', /no room/);
    vi.spyOn(answerMemory, 'add').mockImplementation(() => {
      throw noRoom();
    });
    vi.mocked(answerMemory.take).mockResolvedValue();
    expectRefusal(await app.ask('GET', `${studio}/file?path=quotes.txt`), 503, 'unavailable', /no room/);
    const { status } = await app.ask('POST', '/graphql', { body: { query: '{ me { __typename } }' } });
    expect(status).toBe(503);
  });

  it('take room for a tree before its items are made, by what of it is shown', async () => {
    const take = vi.spyOn(answerMemory, 'take').mockResolvedValue();
    const whole = await app.ask('GET', `${studio}/filetree`);
    await app.ask('GET', `${studio}/filetree?depth=1&flat=true`);
    const [all = 0, some = 0] = take.mock.calls.map(([, bytes]) => bytes);
    expect(all).toBeGreaterThan(JSON.stringify(whole.body.tree).length);
    expect(some).toBeLessThan(all);
    take.mockRejectedValue(noRoom());
    expectRefusal(await app.ask('GET', `${studio}/filetree`), 503, 'unavailable', /no room/);
  });

  it('are refused while they are written, before all of them is in memory, when they become too long', async () => {
    const sizes: number[] = [];
    vi.spyOn(answerMemory, 'add').mockImplementation((_caller, size) => {
      sizes.push(size);
      if (size > mebibyte / 2) throw new DomainError('too_large', 'request less');
    });
    expectRefusal(await app.ask('GET', `${studio}/file?path=quotes.txt`), 413, 'too_large', /request less/);
    expect(Math.max(...sizes)).toBeLessThan(2 * mebibyte);
  });

  it('of commands are counted, and sent in any case', async () => {
    const add = vi.spyOn(answerMemory, 'add');
    const ofCommand = vi.spyOn(answerMemory, 'addOfCommand');
    const { status, body } = await app.ask('PUT', `${studio}/collections/posts/long`, {
      body: { frontmatter: { title: 'Long' } },
    });
    expect([status, body.body.length]).toEqual([200, mebibyte]);
    const sizes = ofCommand.mock.calls.map(([, bytes]) => bytes);
    expect(Math.max(...sizes)).toBe(JSON.stringify(body).length);
    expect(add).not.toHaveBeenCalled();
  });

  it('of mutations are sent in any case, too', async () => {
    vi.spyOn(answerMemory, 'add').mockImplementation(() => {
      throw noRoom();
    });
    const at = 'organization: "acme", project: "site"';
    const { status, body } = await app.ask('POST', '/graphql', {
      body: { query: `mutation { updateProject(${at}, input: { name: "Site" }) { name } }` },
    });
    expect([status, body]).toEqual([200, { data: { updateProject: { name: 'Site' } } }]);
  });

  it('are no reason to undo a command, or to keep its transaction open', async () => {
    await app.ask('POST', `${studio}/branches`, { body: { name: 'other' } });
    const actions = [{ op: 'write_file', path: 'content/b.md', content: 'b' }];
    const changed = await app.ask('POST', `${studio}/changes`, { body: { branch: 'other', message: 'b', actions } });
    expect(changed.status).toBe(201);
    const take = vi.spyOn(answerMemory, 'take').mockRejectedValue(noRoom());
    const { status } = await app.ask('POST', `${studio}/pulls`, { body: { title: 'Other', head: 'other' } });
    expect(status).toBe(201);
    expect(take).not.toHaveBeenCalled();
  });
});

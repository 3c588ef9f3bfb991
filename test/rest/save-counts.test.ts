import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { tally } from '../../src/ports/tally.ts';
import { shared, startTestApp, studio } from '../support/app.ts';
import { save } from '../support/git-store.ts';

const entries = 400;
const writers = 16;
const posts = `${studio}/collections/posts`;
const pathOf = (at: number) => `content/posts/post-${at}.md`;

const app = shared(startTestApp);
beforeAll(async () => {
  const files = Array.from({ length: entries }, (_, at) => [pathOf(at), `---\ntitle: Post ${at}\n---\n\nText ${at}\n`]);
  await save(await app.repository(), Object.fromEntries(files));
  // What a process learns once is known from here on.
  await put(0);
  await quiet();
});

/** Resolves when nothing is done in the background. */
async function quiet(): Promise<void> {
  await app.services.studio.moves.settled();
  await app.services.studio.content.settled();
}

let edits = 0;
const put = (at: number) =>
  app.ask('PUT', `${posts}/post-${at}`, { body: { frontmatter: { title: `Edit ${edits++}` } } });

interface Counts {
  parses: number;
  passes: number;
  gitRequests: string[];
  rounds: number[];
  statements: string[];
}

/** A statement on one line, and without the object that may be around it. */
const textOf = (given: unknown) =>
  String((given as { text?: unknown }).text ?? given)
    .trim()
    .replaceAll(/\s+/g, ' ');

/** Counts what is done during some work. */
async function counted(work: () => Promise<unknown>): Promise<Counts> {
  const counts: Counts = { parses: 0, passes: 0, gitRequests: [], rounds: [], statements: [] };
  const listeners = [
    [tally.parse, () => void counts.parses++],
    [tally.pass, () => void counts.passes++],
    [tally.gitRequest, (what: unknown) => void counts.gitRequests.push(String(what))],
    [tally.statement, (given: unknown) => void counts.statements.push(textOf(given))],
    [tally.commitRound, (size: unknown) => void counts.rounds.push(Number(size))],
  ] as const;
  for (const [{ name }, listener] of listeners) subscribe(name, listener);
  try {
    await work();
  } finally {
    for (const [{ name }, listener] of listeners) unsubscribe(name, listener);
  }
  return counts;
}

const ofAudit = ({ statements }: Counts) => statements.filter((text) => text.startsWith('insert into audit'));

describe('saving one field of an entry', () => {
  it('parses the stored and the new version once, goes through no list, and asks git and the database once each', async () => {
    const counts = await counted(() => put(1));
    expect(counts).toMatchObject({ parses: 2, passes: 0, gitRequests: ['cat-file', 'update-ref'], rounds: [1] });
    expect(ofAudit(counts)).toHaveLength(1);
  });

  it('has nothing to read again afterwards: what follows in the background parses nothing and goes through no list', async () => {
    await quiet();
    await put(2);
    const counts = await counted(quiet);
    expect(counts).toMatchObject({ parses: 0, passes: 0, gitRequests: [] });
    const list = await app.ask('GET', `${posts}?q=Edit&per_page=100`);
    expect(list.body.map(({ slug }: { slug: string }) => slug)).toContain('post-2');
  });
});

it('concurrent saves share one round of commits and one statement for their audit rows', async () => {
  await quiet();
  const git = await app.repository();
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const plan = async () => {
    await held;
    return { changes: [], message: '', result: null };
  };
  const author = { name: 'First', email: 'first@portico.test' };
  const first = git.write({ branch: 'main', author, plan });
  const write = vi.spyOn(Object.getPrototypeOf(git), 'write');
  const counts = await counted(async () => {
    const saves = Array.from({ length: writers }, (_, at) => put(10 + at));
    await vi.waitFor(() => expect(write).toHaveBeenCalledTimes(writers), { timeout: 10_000 });
    release();
    await first;
    const statuses = (await Promise.all(saves)).map(({ status }) => status);
    expect(statuses).toEqual(new Array(writers).fill(200));
  });
  write.mockRestore();
  expect(counts.rounds).toEqual([1, writers]);
  expect(counts.passes).toBe(0);
  // A round that is slow lets the index of words read what is about to be committed.
  expect(counts.parses).toBeGreaterThanOrEqual(2 * writers);
  expect(counts.parses).toBeLessThanOrEqual(3 * writers);
  expect(ofAudit(counts)).toHaveLength(1);
  const rows = await app.services.orm.em.fork().execute("select 1 from audit where action = 'studio.updateEntry'");
  expect(rows).toHaveLength(edits);
});

it('renaming an entry reads those that link to files by relative paths, and no others', async () => {
  await app.ask('PUT', `${posts}/post-8`, { body: { body: '[seven](post-7.md)' } });
  await quiet();
  const rename = () => app.ask('PUT', `${posts}/post-7`, { body: { slug: 'moved-7' } });
  const { gitRequests } = await counted(rename);
  expect(gitRequests.filter((what) => what === 'cat-file').length).toBeLessThan(10);
  expect((await app.ask('GET', `${posts}/post-8`)).body.body).toBe('[seven](moved-7.md)');
});

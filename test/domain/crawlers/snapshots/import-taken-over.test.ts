import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import type { Repository } from '../../../../src/ports/git.ts';
import { seed, shared, startTestApp } from '../../../support/app.ts';
import { beginImports, type Imports } from '../../../support/crawlers/imports.ts';
import { origin } from '../../../support/crawlers/snapshots.ts';

const app = shared(startTestApp);
let head: string;
let imports: Imports;
beforeAll(async () => {
  head = await seed(app, { 'site/own.html': 'ours' });
});
beforeEach(async () => {
  imports = await beginImports(app, head);
});
afterEach(() => void vi.restoreAllMocks());

/** Diverts the next writes of a branch, wherever the repository is opened. */
function divert(...ways: ((write: () => Promise<unknown>) => Promise<unknown>)[]): void {
  const { git } = app.services;
  const open = git.open.bind(git);
  vi.spyOn(git, 'open').mockImplementation((id) => {
    const repository = open(id);
    const write: Repository['write'] = ((...given: Parameters<Repository['write']>) => {
      const way = ways.shift();
      return way === undefined ? repository.write(...given) : way(() => repository.write(...given));
    }) as Repository['write'];
    return new Proxy(repository, {
      get(target, name) {
        if (name === 'write') return write;
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  });
}

const pages = { '/': 'home', '/own.html': 'theirs', '/a': 'a' };
const counts = {
  added: 2,
  changed: 0,
  removed: 0,
  skipped: [{ path: 'own.html', url: `${origin}/own.html`, reason: 'not_imported' }],
};

it('an import taken over from a process that died when it had committed says what was committed', async () => {
  const { body } = await imports.start(await imports.capture(pages));
  const died = new AbortController();
  divert(async (write) => {
    await write();
    died.abort();
    throw new Error('died');
  });
  await expect(imports.work(body.id, died.signal)).rejects.toThrow('died');
  expect(await imports.read(body.id)).toMatchObject({ state: 'running', commit: null });
  await imports.work(body.id);
  const git = await app.repository();
  expect(await imports.read(body.id)).toMatchObject({ state: 'completed', commit: await git.head('main'), ...counts });
});

it.each([
  ['', false],
  [', where the head was named', true],
])('an import taken over while it is committed by the other process is done once%s', async (_what, isNamed) => {
  const git = await app.repository();
  const before = await imports.commits();
  const { body } = await imports.start(
    await imports.capture(pages),
    isNamed ? { expected_head: await git.head('main') } : {},
  );
  divert(async (write) => {
    await imports.work(body.id);
    return write();
  });
  await imports.work(body.id);
  expect(await imports.commits()).toBe(before + 1);
  expect(await imports.read(body.id)).toMatchObject({ state: 'completed', commit: await git.head('main'), ...counts });
});

it('an import taken over by one that completes it is not failed by what the other meets afterwards', async () => {
  const { body } = await imports.start(await imports.capture(pages));
  divert(async () => {
    await imports.work(body.id);
    throw new Error('the disk is full');
  });
  await imports.work(body.id);
  expect(await imports.read(body.id)).toMatchObject({ state: 'completed', error: null, ...counts });
});

it('an import taken over by one that is still at it is not failed by what the other meets meanwhile', async () => {
  const before = await imports.commits();
  const { body } = await imports.start(await imports.capture(pages));
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let other = Promise.resolve();
  divert(
    async () => {
      other = imports.work(body.id);
      await begun.promise;
      throw new Error('the disk is full');
    },
    async (write) => {
      begun.resolve();
      await over.promise;
      return write();
    },
  );
  await imports.work(body.id);
  expect(await imports.read(body.id)).toMatchObject({ state: 'running', error: null });
  over.resolve();
  await other;
  const git = await app.repository();
  expect(await imports.read(body.id)).toMatchObject({ state: 'completed', commit: await git.head('main'), ...counts });
  expect(await imports.commits()).toBe(before + 1);
});

it('an import taken over by one that is still at it is committed by that one alone', async () => {
  const before = await imports.commits();
  const { body } = await imports.start(await imports.capture(pages));
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let other = Promise.resolve();
  divert(
    async (write) => {
      other = imports.work(body.id);
      await begun.promise;
      return write();
    },
    async (write) => {
      begun.resolve();
      await over.promise;
      return write();
    },
  );
  await imports.work(body.id);
  expect([await imports.commits(), await imports.read(body.id)]).toEqual([
    before,
    expect.objectContaining({ state: 'running' }),
  ]);
  over.resolve();
  await other;
  expect([await imports.commits(), await imports.read(body.id)]).toEqual([
    before + 1,
    expect.objectContaining({ state: 'completed', ...counts }),
  ]);
});

it('an import that fails says that nothing was committed', async () => {
  const { body } = await imports.start(await imports.capture(pages));
  divert(async (write) => {
    await write();
    const git = await app.repository();
    await git.resetBranch('main', { from: (await git.head('main')) ?? '', to: head });
    throw new Error('the disk is full');
  });
  await imports.work(body.id);
  expect(await imports.read(body.id)).toMatchObject({ state: 'failed', commit: null, added: 0, skipped: [] });
});

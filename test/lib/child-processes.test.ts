import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { ChildPool } from '../../src/lib/child-processes.ts';
import { workFor } from '../../src/lib/concurrency.ts';
import { temporaryDirectory } from '../support/git-store.ts';

it('distinguishes a process that does not start from one that dies of its task, and tries again with the next task', async () => {
  const module = new URL('./no-such-module.js', import.meta.url);
  const pool = new ChildPool<{ n: number }, number>({ module, size: 1, heap: 64 });
  const fault = () =>
    pool.run({ n: 1 }, { deadline: 60_000 }).then(
      () => 'none',
      (error) => error.fault as string,
    );
  expect([await fault(), await fault()]).toEqual(['not_started', 'not_started']);
  await pool.close();
  expect(await fault()).toBe('closed');
});

it('ends while a process cannot be started', async () => {
  const { execPath } = process;
  const pool = new ChildPool<{ n: number }, number>({ module: new URL(import.meta.url), size: 1, heap: 64 });
  process.execPath = '/nowhere/node';
  try {
    // Node emits the error in the next turn of the event loop.
    const requested = pool.run({ n: 1 }, { deadline: 60_000 });
    await Promise.all([expect(requested).rejects.toMatchObject({ fault: 'closed' }), pool.close()]);
  } finally {
    process.execPath = execPath;
  }
});

it('gives its processes to callers round robin', async () => {
  const file = path.join(temporaryDirectory(), 'echo.mjs');
  writeFileSync(file, "process.on('message', ({ n }) => process.send(n)); process.send('ready');");
  const pool = new ChildPool<{ n: number }, number>({ module: pathToFileURL(file), size: 1, heap: 64 });
  onTestFinished(() => pool.close());
  const order: string[] = [];
  const work = (caller: string, n: number) =>
    workFor(caller, () =>
      pool.run({ n }, { deadline: 60_000 }).then((answer) => void order.push(`${caller} ${answer}`)),
    );
  await Promise.all([work('busy', 1), work('busy', 2), work('busy', 3), work('other', 1)]);
  expect(order).toEqual(['busy 1', 'other 1', 'busy 2', 'busy 3']);
});

import { expect, it } from 'vitest';
import { ChildPool } from '../../src/lib/child-processes.ts';

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

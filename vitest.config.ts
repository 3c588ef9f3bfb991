import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    // Faults have a lane of their own; one kill each of server and database stays here.
    exclude: ['test/**/*.system.test.ts', 'test/faults/!(crash).test.ts'],
    globalSetup: ['test/support/postgres-setup.ts'],
    // Many tests wait for processes, timers and answers: the usual one file less than there are cores leaves them idle.
    maxWorkers: availableParallelism() + 1,
    // Ends what hangs; how fast anything is no test asks, and a machine may be busy.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
  },
});

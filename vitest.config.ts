import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** What starts, stops, kills and starts again whole servers and databases: a lane of its own (`vitest.faults.config.ts`). */
export const faults = ['test/faults/**/*.test.ts', 'test/**/*.faults.test.ts'];
export const system = ['test/**/*.system.test.ts'];

export default defineConfig({
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    // One kill of server and database stays here.
    exclude: [...system, 'test/faults/!(crash).test.ts', 'test/**/*.faults.test.ts'],
    // Files share their processes, so that the sources and packages are loaded once per process and not once per file. What a file changes of
    // the process (variables, timers, mocks) it puts back; hooks belong into test files, or into functions that these call.
    isolate: false,
    globalSetup: ['test/support/postgres-setup.ts'],
    // Many tests wait for processes, timers and answers: the usual one file less than there are cores leaves them idle.
    maxWorkers: availableParallelism() + 1,
    // Ends what hangs; how fast anything is no test asks, and a machine may be busy.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
  },
});

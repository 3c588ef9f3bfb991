import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What starts, stops, kills and starts again whole servers and databases: a lane of its own (`vitest.faults.config.ts`). */
export const faults = ['test/faults/**/*.test.ts', 'test/**/*.faults.test.ts'];
export const system = ['test/**/*.system.test.ts'];

/** Tests that start git by the hundred, but for two that fill hundreds of megabytes. */
const startsMany =
  /\/test\/(git-http|engines\/(git\/(?!repository|hostile-packs)|deployer)|rest\/upstream|rest\/branches-like|domain\/(backups|studio\/merge|studio\/content\/last-commits))/;

/** A sequencer that begins with some files, which are matched by their paths. */
export const filesFirst = (first: RegExp) =>
  class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const sorted = await super.sort(files);
      return [true, false].flatMap((isFirst) => sorted.filter((file) => first.test(file.moduleId) === isFirst));
    }
  };

export default defineConfig({
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    // One kill of server and database stays here.
    exclude: [...system, 'test/faults/!(crash.test.ts)', 'test/**/*.faults.test.ts'],
    // Files share their processes, so that the sources and packages are loaded once per process and not once per file. What a file changes of
    // the process (variables, timers, mocks) it puts back; hooks belong into test files, or into functions that these call.
    isolate: false,
    // To start a program the kernel copies the page tables of the process that starts it: 1 ms of processor time at 200 MiB of memory, 20 ms at
    // 700 MiB. Processes of tests grow, so what starts many programs runs first: a sixth less processor time for `test/engines` and `test/git-http`.
    sequence: { sequencer: filesFirst(startsMany) },
    globalSetup: ['test/support/postgres-setup.ts'],
    // Many tests wait for processes, timers and answers: the usual one file less than there are cores leaves them idle.
    maxWorkers: availableParallelism() + 1,
    // Ends what hangs; how fast anything is no test asks, and a machine may be busy.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
  },
});

import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import base, { filesFirst, system } from './vitest.config.ts';

/** What counts processes and memory of the machine, kills browsers, or fills disks: one at a time, after all others. */
const alone = [
  'test/crawl-browser.system.test.ts',
  'test/engines/browser/*.system.test.ts',
  'test/faults/*.system.test.ts',
  'test/full-disk*.system.test.ts',
];
/** Most of their time they wait, for a registry or for the next minute. */
const waits = /\/test\/(deployments|routes-npm|workflows)\.system/;

const project = (
  groupOrder: number,
  name: string,
  test: TestProjectInlineConfiguration['test'],
): TestProjectInlineConfiguration => ({
  ...(base.resolve && { resolve: base.resolve }),
  test: {
    name,
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
    sequence: { groupOrder },
    ...test,
  },
});

// What needs more than Node, npm and git: chromium, curl, openssl, hugo, jekyll, cron, the npm registry. A missing program fails its test by name.
export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres-setup.ts'],
    sequence: { sequencer: filesFirst(waits) },
    projects: [
      // Each starts more than one program as it is.
      project(0, 'system', { include: system, exclude: alone, maxWorkers: availableParallelism() }),
      project(1, 'alone', { include: alone, maxWorkers: 1 }),
    ],
  },
});

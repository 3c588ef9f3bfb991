import { defineConfig, mergeConfig } from 'vitest/config';
import base, { system } from './vitest.config.ts';

// Builds and their limits alone, for CI to repeat as another user: `PORTICO_TEST_SANDBOXES` lists the kinds of sandbox that must work.
const config = mergeConfig(base, defineConfig({}));
config.test = {
  ...config.test,
  include: [
    'test/engines/deployer/**/*.test.ts',
    'test/domain/studio/deployments/strict.test.ts',
    'test/domain/studio/deployments/bad-builds.test.ts',
  ],
  exclude: system,
};

export default config;

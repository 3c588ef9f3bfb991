import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.config.ts';

const day = 24 * 3_600_000;

// What disturbs a server, repeated for hours; never part of CI.
const config = mergeConfig(base, defineConfig({}));
config.test = {
  ...config.test,
  include: ['test/faults/**/*.test.ts'],
  exclude: ['test/**/*.system.test.ts'],
  env: { PORTICO_TEST_LONG: '1' },
  testTimeout: day,
};

export default config;

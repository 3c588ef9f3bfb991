import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.config.ts';

// What kills, stops and restarts processes: quicker and steadier with nothing else beside it.
const config = mergeConfig(base, defineConfig({}));
config.test = {
  ...config.test,
  include: ['test/faults/**/*.test.ts'],
  exclude: ['test/**/*.system.test.ts'],
  maxWorkers: 2,
};

export default config;

import { defineConfig, mergeConfig } from 'vitest/config';
import base, { system } from './vitest.config.ts';

const day = 24 * 3_600_000;

// All lanes but the system's, where disturbances and costly properties are repeated for hours; never part of CI.
const config = mergeConfig(base, defineConfig({}));
config.test = { ...config.test, exclude: system, isolate: true, env: { PORTICO_TEST_LONG: '1' }, testTimeout: day };

export default config;

import { defineConfig, mergeConfig } from 'vitest/config';
import base, { system } from './vitest.config.ts';

// What needs more than Node, npm and git: chromium, curl, openssl, hugo, jekyll, cron, the npm registry. A missing program fails its test by name.
const config = mergeConfig(base, defineConfig({}));
config.test = { ...config.test, include: system, exclude: [], isolate: true };
// Each of these starts more than one program as it is.
delete config.test.maxWorkers;

export default config;

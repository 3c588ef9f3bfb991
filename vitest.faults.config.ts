import { defineConfig, mergeConfig } from 'vitest/config';
import base, { faults, system } from './vitest.config.ts';

// What starts, stops, kills and starts again whole servers and databases: quicker and steadier with nothing else beside it.
const config = mergeConfig(base, defineConfig({}));
config.test = { ...config.test, include: faults, exclude: system, isolate: true };

export default config;

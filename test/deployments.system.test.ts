import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { commandsOf } from './support/guides.ts';
import { demoDataDir, startServer } from './support/server-process.ts';

vi.setConfig({ testTimeout: 420_000 });

const run = promisify(execFile);

test('“From branch to preview” does what it says: the demo site is installed and built for real', async () => {
  const commands = await commandsOf('deployments', 'From branch to preview');
  expect(commands.split('\n').length).toBeGreaterThan(30);
  const { dataDir, token } = await demoDataDir();
  const builds = await mkdtemp(path.join(tmpdir(), 'portico-builds-'));
  await chmod(builds, 0o711);
  // Where this machine reaches the registry through a proxy with a certificate of its own, so do builds.
  const { NODE_EXTRA_CA_CERTS: roots } = process.env;
  const settings = { PORTICO_BUILD_DIR: path.join(builds, 'own'), ...(roots && { PORTICO_CA_FILE: roots }) };
  const server = await startServer(dataDir, settings);
  const { stdout } = await run('bash', ['-c', commands.replaceAll('http://localhost:4280', server.url)], {
    env: { PATH: process.env.PATH, TOKEN: token },
    timeout: 400_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  expect(stdout).toMatch(/added \d+ packages/);
  expect(stdout).toContain('page(s) built');
  const headings = [...stdout.matchAll(/<h1.*<\/h1>/g)].map(([heading]) => heading.replace(/<[^>]*>/g, ''));
  expect(headings.length).toBe(3);
  const [before, edited, back] = headings;
  expect(edited).toBe('The frost came late');
  expect([before === edited, back === before]).toEqual([false, true]);
  expect(stdout).toContain('"npm run no-such-script" failed with exit code 1');
  expect(stdout).toMatch(/^exit_code$/m);
  await server.stop();
  await rm(builds, { recursive: true, force: true });
});

import { spawn } from 'node:child_process';
import { createConnection } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startGitBackend } from '../../test/support/git-backend.ts';
import type { Bench } from '../benchmark.ts';
import { freePort } from './server.ts';
import { gitLine } from './stock-git.ts';

const isListening = (port: number) =>
  new Promise<boolean>((resolve) => {
    const probe = createConnection(port, '127.0.0.1');
    probe.once('connect', () => resolve(true)).once('error', () => resolve(false));
    probe.once('connect', () => probe.destroy());
  });

/** Serves a directory of repositories by `git daemon`. @returns the address below which they lie */
export async function startDaemon({ defer }: Bench, directory: string): Promise<string> {
  const port = await freePort();
  const program = path.join(await gitLine(directory, ['--exec-path']), 'git-daemon');
  const place = ['--listen=127.0.0.1', `--port=${port}`, `--base-path=${directory}`, '--export-all', directory];
  const child = spawn(program, place, { stdio: 'ignore' });
  defer(() => void child.kill());
  for (let tries = 0; !(await isListening(port)); tries += 1) {
    if (tries > 200) throw new Error('git daemon does not listen');
    await delay(20);
  }
  return `git://127.0.0.1:${port}`;
}

/** Serves a directory of repositories by `git http-backend`. @returns the address below which they lie */
export async function startBackend({ defer }: Bench, directory: string): Promise<string> {
  const { url, stop } = await startGitBackend(directory);
  defer(stop);
  return url;
}

import { fork } from 'node:child_process';
import path from 'node:path';
import type { Bench } from '../benchmark.ts';

/** Milliseconds of the slowest answer since the last time, the one that is awaited included. */
export type Slowest = () => Promise<number>;

/** Asks a server how it is all the time, from a process that has nothing else to do. */
export async function probeHealth(bench: Bench, url: string): Promise<Slowest> {
  const child = fork(path.join(import.meta.dirname, 'health-probe-process.js'), [`${url}/healthz`], { execArgv: [] });
  bench.defer(() => void child.kill());
  const slowest = () =>
    new Promise<number>((resolve, reject) => {
      const onExit = (code: number | null) => reject(new Error(`The probe ended with ${code}`));
      child.once('exit', onExit).once('message', (milliseconds) => {
        child.off('exit', onExit);
        resolve(milliseconds as number);
      });
      child.send('slowest');
    });
  await slowest();
  return slowest;
}

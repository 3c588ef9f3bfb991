import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { check } from '../benchmark.ts';

/** Milliseconds that a process may take to come to rest. */
const mostPatience = 480_000;

/** Seconds a process has computed. */
export async function computed(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) / 100;
}

/** Waits until a process has nothing more to do than it has for ever. @returns how long that took, milliseconds */
export async function calm(pid: number): Promise<number> {
  const began = performance.now();
  for (let still = 0; still < 3; ) {
    const before = await computed(pid);
    await delay(1_000);
    still = (await computed(pid)) - before < 0.1 ? still + 1 : 0;
    check(performance.now() - began < mostPatience, 'the server does not come to rest');
  }
  return performance.now() - began - 3_000;
}

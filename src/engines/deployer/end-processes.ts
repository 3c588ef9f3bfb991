import { setTimeout } from 'node:timers/promises';
import { send } from './processes.ts';
import { type Remains, remaining } from './remains.ts';

/** Time between SIGTERM and SIGKILL, and how long the killed may take to go; milliseconds. */
const grace = 10_000;
const patience = 5_000;
const lookEvery = 50;

async function areGone(remains: Remains, milliseconds: number): Promise<boolean> {
  for (const until = Date.now() + milliseconds; ; ) {
    if ((await remaining(remains)).length === 0) return true;
    if (Date.now() >= until) return false;
    await setTimeout(lookEvery);
  }
}

/**
 * Ends what is left of a command. The group gets its signals as a whole, so that one that forks as fast as it can is hit with all its children.
 * @param politely SIGTERM first, and ten seconds to end in order
 */
export async function endProcesses(remains: Remains, politely: boolean): Promise<void> {
  const { leader } = remains;
  const signal = async (name: NodeJS.Signals) => {
    const left = await remaining(remains);
    if (leader !== null && left.some(({ group }) => group === leader)) send(-leader, name);
    for (const { pid, group } of left) if (group !== leader) send(pid, name);
    return left.length;
  };
  if (politely && (await signal('SIGTERM')) > 0 && (await areGone(remains, grace))) return;
  for (const until = Date.now() + patience; Date.now() < until; ) {
    if ((await signal('SIGKILL')) === 0) return;
    await setTimeout(lookEvery);
  }
}

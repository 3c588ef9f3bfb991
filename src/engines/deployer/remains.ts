import { access, readFile, stat } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { allProcesses, familyOf, type ProcessState } from './processes.ts';

/** By what the processes of a command are known. */
export interface Remains {
  /** Leader of the process group; null when none is known. */
  leader: number | null;
  /** Of the workspace: what a command starts inherits its environment. */
  home: string;
  /** Whose processes they are, where the builds of a project have a user of their own; null: the server's. */
  user: number | null;
}

/** Between fork and exec(2), amply; milliseconds. */
const settling = 20;
const workspaceHome = /\/\d+-[0-9a-f]{8}\/home$/;

async function homeOf({ pid }: ProcessState): Promise<string | null> {
  const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
  return /(?:^|\0)HOME=([^\0]*)\0/.exec(environment)?.[1] ?? null;
}

const isThere = (place: string) =>
  access(place).then(
    () => true,
    () => false,
  );

/** Processes of a user that belong to no other build: what has changed its environment, its group and its parent is still the user's. */
async function strays(
  all: readonly ProcessState[],
  homes: ReadonlyMap<number, string | null>,
  { home, user }: Remains,
) {
  const others = new Set<number>();
  for (const { pid, group } of all) {
    const other = homes.get(pid) ?? '';
    if (other !== home && workspaceHome.test(other) && (await isThere(other))) others.add(pid).add(group);
  }
  const spared = new Set(familyOf(all, others));
  const owned = await Promise.all(
    all.map(async (state) => {
      const owner = await stat(`/proc/${state.pid}`).catch(() => null);
      return owner?.uid === user && !spared.has(state) ? state : null;
    }),
  );
  const found = owned.filter((state) => state !== null);
  if (found.length === 0) return found;
  // One of another build that has just been forked has its own environment a moment later.
  await setTimeout(settling);
  const later = await Promise.all(found.map(homeOf));
  return found.filter((_, at) => later[at] === home || !workspaceHome.test(later[at] ?? ''));
}

/** What is left of a command: its group and what descends from it, what works in its home, and what else its user alone can have started. */
export async function remaining(remains: Remains): Promise<ProcessState[]> {
  const { leader, home, user } = remains;
  const all = await allProcesses();
  const homes = new Map(await Promise.all(all.map(async (state) => [state.pid, await homeOf(state)] as const)));
  const found = new Set(leader === null ? [] : familyOf(all, new Set([leader])));
  for (const state of all) if (homes.get(state.pid) === home) found.add(state);
  if (user !== null) for (const state of await strays(all, homes, remains)) found.add(state);
  return [...found];
}

import { readdir, readFile, readlink } from 'node:fs/promises';
import type { ProcessName } from '../../domain/ports/deployer.ts';

/** A process as /proc shows it (proc(5)). */
export interface ProcessState {
  pid: number;
  parent: number;
  group: number;
  session: number;
  /** Clock ticks after boot. */
  started: string;
  /** Resident memory, bytes. */
  memory: number;
}

const pageBytes = 4096;

/** Null when there is no such process; a zombie holds nothing any more and counts as gone. */
export async function processState(pid: number): Promise<ProcessState | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state = 'Z', parent, group, session] = fields;
  if ('ZXx'.includes(state)) return null;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    started: fields[19] ?? '',
    memory: Number(fields[21]) * pageBytes,
  };
}

/** Every process that can be seen. */
export async function allProcesses(): Promise<ProcessState[]> {
  const names = await readdir('/proc').catch(() => []);
  const states = await Promise.all(
    names.filter((name) => /^\d+$/.test(name)).map((name) => processState(Number(name))),
  );
  return states.filter((state) => state !== null);
}

/** Of these processes, those of the groups or sessions that some of them lead, those that are named, and all that descend from either. */
export function familyOf(
  all: readonly ProcessState[],
  leaders: ReadonlySet<number>,
  named: readonly ProcessState[] = [],
): ProcessState[] {
  const found = new Set(named.map(({ pid }) => pid));
  for (const { pid, group, session } of all) if ([pid, group, session].some((id) => leaders.has(id))) found.add(pid);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return all.filter(({ pid }) => found.has(pid));
}

let machine: Promise<string> | undefined;

/** Tells this boot of this machine, and this pid namespace, from others. */
function machineName(): Promise<string> {
  machine ??= Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ]).then(([boot, namespace]) => `${boot.trim()}/${namespace}`);
  return machine;
}

/** The name by which a process can be told from later ones; null when it is gone. */
export async function nameOf(pid: number): Promise<ProcessName | null> {
  const state = await processState(pid);
  return state && { pid, started: state.started, machine: await machineName() };
}

export async function standingOf(name: ProcessName): Promise<'alive' | 'gone' | 'elsewhere'> {
  if (name.machine !== (await machineName())) return 'elsewhere';
  return (await processState(name.pid))?.started === name.started ? 'alive' : 'gone';
}

/** Sends a signal to a process, or to a group by its negative number; one that has just gone is no error. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

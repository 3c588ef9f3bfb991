import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import type { ProcessName } from '../../ports/deployer.ts';

/** A process as /proc shows it (proc(5)). */
export interface ProcessState {
  pid: number;
  /** Thread whose entry in /proc shows the memory and the files of all of them: the first one that has not ended. */
  thread: number;
  parent: number;
  group: number;
  session: number;
  /** Clock ticks after boot. */
  started: string;
  /** Resident memory, bytes. */
  memory: number;
}

const pageBytes = 4096;
const hasEnded = (state: string | undefined) => state === undefined || 'ZXx'.includes(state);

/** What follows the program's name, which stands in parentheses and may itself hold spaces and parentheses; null when it is gone. */
function statFields(file: string): string[] | null {
  try {
    const stat = readFileSync(file, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

/** The first thread that has not ended, where the first of all has: its entry shows neither memory nor files of the others. */
function livingThread(pid: number): { thread: number; pages: number } | null {
  let names: string[] = [];
  try {
    names = readdirSync(`/proc/${pid}/task`);
  } catch {
    // Gone meanwhile.
  }
  for (const name of names) {
    const fields = statFields(`/proc/${pid}/task/${name}/stat`);
    if (fields !== null && !hasEnded(fields[0])) return { thread: Number(name), pages: Number(fields[21]) };
  }
  return null;
}

/** Of the flags of a process (proc(5)): its memory and its files are being given up. */
const exiting = 0x4;

/** Whether a process or thread is about to end, or gone. @param entry its directory in /proc */
export function isEnding(entry: string): boolean {
  const fields = statFields(`${entry}/stat`);
  return fields === null || (Number(fields[6]) & exiting) !== 0;
}

/** Null when there is no such process; a zombie without threads holds nothing any more and counts as gone. */
export function processState(pid: number): ProcessState | null {
  const fields = statFields(`/proc/${pid}/stat`);
  if (fields === null) return null;
  const [state, parent, group, session] = fields;
  const seen = hasEnded(state)
    ? Number(fields[17]) > 1
      ? livingThread(pid)
      : null
    : { thread: pid, pages: Number(fields[21]) };
  return (
    seen && {
      pid,
      thread: seen.thread,
      parent: Number(parent),
      group: Number(group),
      session: Number(session),
      started: fields[19] ?? '',
      memory: seen.pages * pageBytes,
    }
  );
}

/**
 * Every process that can be seen. An entry of /proc is read in less time than a thread takes to be handed the file, so they are read at once,
 * with pauses.
 */
export async function allProcesses(): Promise<ProcessState[]> {
  const names = await readdir('/proc').catch(() => []);
  const pause = pauses();
  const states: ProcessState[] = [];
  for (const name of names) {
    const state = /^\d+$/.test(name) ? processState(Number(name)) : null;
    if (state !== null) states.push(state);
    await pause();
  }
  return states;
}

/** Longest stretch of synchronous reads, milliseconds. */
const stretch = 5;

/** @returns a function that yields to the event loop once this has run for some milliseconds */
export function pauses(): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < stretch) return undefined;
    return setImmediate().then(() => {
      began = performance.now();
    });
  };
}

/** Of these processes, the members of groups or sessions that some of them lead, the named ones, and all descendants of either. */
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

/** Identifies this boot of this machine and this pid namespace. */
function machineName(): Promise<string> {
  machine ??= Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ]).then(([boot, namespace]) => `${boot.trim()}/${namespace}`);
  return machine;
}

/** Identifies a process even if its pid is used again; null when it has ended. */
export async function nameOf(pid: number): Promise<ProcessName | null> {
  const state = processState(pid);
  return state && { pid, started: state.started, machine: await machineName() };
}

export async function standingOf(name: ProcessName): Promise<'alive' | 'gone' | 'elsewhere'> {
  if (name.machine !== (await machineName())) return 'elsewhere';
  return processState(name.pid)?.started === name.started ? 'alive' : 'gone';
}

/** Sends a signal to a process, or to a group by its negative number; one that has just gone is no error. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

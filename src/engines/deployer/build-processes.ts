/**
 * Finds and ends what a command has started. Every process of a build carries its workspace's mark: a bound on CPU time far beyond any use,
 * which no process without privileges can raise (setrlimit(2)) and every child inherits, through setsid(2), double forks and `env -i` alike.
 * A process can lower it, though, to that of another build too. So where a build has a user of its own, that user's processes are the build's,
 * whatever their mark, and no other unprivileged user's are.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { allProcesses, familyOf, type ProcessState, send } from './processes.ts';

/** Seconds of CPU time: about 30 years and more. */
const lowestMark = 1_000_000_000;
/** Time between SIGTERM and SIGKILL, and how long the killed may take to go; milliseconds. */
const grace = 10_000;
const patience = 10_000;
const lookEvery = 50;

/** The mark of what runs in a workspace, by the eight hexadecimal digits its directory ends with. */
export function markOf(workspace: string): number {
  return lowestMark + Number.parseInt(workspace.slice(-8), 16);
}

interface Traits {
  /** Null: unlimited, as before a build's own limits are set. */
  cpuSeconds: number | null;
  user: number | null;
}

async function traitsOf(pid: number): Promise<Traits> {
  const [limits, status] = await Promise.all(
    ['limits', 'status'].map((file) => readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '')),
  );
  const hard = /^Max cpu time\s+\S+\s+(\d+)/m.exec(limits ?? '')?.[1];
  // Owners of files in /proc are not enough: a process that cannot be dumped shows root there.
  const user = /^Uid:\s+(\d+)/m.exec(status ?? '')?.[1];
  return { cpuSeconds: hard === undefined ? null : Number(hard), user: user === undefined ? null : Number(user) };
}

interface Options {
  /** Leader of the process group; null when none is known. */
  leader: number | null;
  /** Directory of the workspace. */
  workspace: string;
  /** Of this build alone, where builds do not run as the server's user. */
  user: number | null;
}

/** The processes of one workspace, or of one command in it. */
export class BuildProcesses {
  readonly #options: Options;
  readonly #mark: number;
  /** By pid and start: a process that is not a build's when it is first seen does not become one, but for leaders, which are known. */
  #known = new Map<string, Traits>();

  constructor(options: Options) {
    this.#options = options;
    this.#mark = markOf(options.workspace);
  }

  async #isOurs(state: ProcessState, known: Map<string, Traits>): Promise<boolean> {
    const name = `${state.pid}/${state.started}`;
    const traits = this.#known.get(name) ?? (await traitsOf(state.pid));
    known.set(name, traits);
    const own = this.#options.user;
    if (own !== null && traits.user === own) return true;
    // The helper that root starts to isolate a build has the server's user before it drops its privileges.
    return traits.cpuSeconds === this.#mark && (own === null || traits.user === process.getuid?.());
  }

  /** All of them that live, in whatever group and session, and what descends from them. */
  async find(): Promise<ProcessState[]> {
    const { leader } = this.#options;
    const all = await allProcesses();
    const known = new Map<string, Traits>();
    const ours = await Promise.all(all.map((state) => this.#isOurs(state, known)));
    this.#known = known;
    const found = familyOf(all, new Set(leader === null ? [] : [leader]));
    const roots = all.filter((state, at) => ours[at] || found.includes(state));
    return familyOf(all, new Set(), roots);
  }

  async #areGone(milliseconds: number): Promise<boolean> {
    for (const until = performance.now() + milliseconds; ; ) {
      if ((await this.find()).length === 0) return true;
      if (performance.now() >= until) return false;
      await setTimeout(lookEvery);
    }
  }

  /** A stopped process does not fork and still counts for the limit, so a fork bomb comes to rest. */
  async #stopAll(until: number): Promise<ProcessState[]> {
    const stopped = new Set<number>();
    for (;;) {
      const found = await this.find();
      const fresh = found.filter(({ pid }) => !stopped.has(pid));
      if (fresh.length === 0 || performance.now() >= until) return found;
      for (const { pid } of fresh) {
        stopped.add(pid);
        send(pid, 'SIGSTOP');
      }
    }
  }

  /** @param politely SIGTERM first, and ten seconds to end in order */
  async end(politely: boolean): Promise<void> {
    if (politely) {
      const left = await this.find();
      for (const { pid } of left) send(pid, 'SIGTERM');
      if (left.length === 0 || (await this.#areGone(grace))) return;
    }
    for (const until = performance.now() + patience; performance.now() < until; ) {
      const left = await this.#stopAll(until);
      if (left.length === 0) return;
      for (const { pid } of left) send(pid, 'SIGKILL');
      await setTimeout(lookEvery / 2);
    }
  }
}

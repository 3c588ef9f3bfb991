import { readdirSync, readFileSync } from 'node:fs';

interface ProcessStat {
  parent: number;
  /** Seconds of processor time, its own. */
  cpu: number;
}

export interface TreeUse {
  /** Seconds of processor time of the tree. */
  cpu: number;
  /** Most memory of the tree at one moment, MiB: what each has alone, and its share of what it has with others (PSS). */
  peak: number;
  /** Most resident memory of the first root alone, MiB. */
  peakOfFirst: number;
}

const ticks = 100;

/** A file of Linux about a process; empty when that has ended. Read at once: the measured processes share the processors with this one. */
function readStatus(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** Every process of the machine, as Linux lists them (proc(5)). */
function processes(): Map<number, ProcessStat> {
  const found = new Map<number, ProcessStat>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const text = readStatus(Number(name), 'stat');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    if (fields.length < 14) continue;
    found.set(Number(name), { parent: Number(fields[1]), cpu: (Number(fields[11]) + Number(fields[12])) / ticks });
  }
  return found;
}

function treeOf(all: ReadonlyMap<number, ProcessStat>, roots: readonly number[]): number[] {
  const tree = new Set(roots);
  for (let before = -1; before < tree.size; ) {
    before = tree.size;
    for (const [pid, { parent }] of all) if (tree.has(parent)) tree.add(pid);
  }
  return [...tree];
}

/** Seconds of processor time that a process and all it started and that still runs have used. */
export function processorTime(root: number): number {
  const all = processes();
  return treeOf(all, [root]).reduce((sum, pid) => sum + (all.get(pid)?.cpu ?? 0), 0);
}

const mebibytes = (pid: number, file: string, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readStatus(pid, file))?.[1] ?? 0) / 1024;

/** Watches processes and all they start, twice a second, until `end` returns what they used. */
export function watchTree(roots: readonly number[]): { end(): TreeUse } {
  const before = processes();
  const last = new Map<number, number>();
  let [peak, peakOfFirst] = [0, 0];
  const look = (): void => {
    const all = processes();
    const tree = treeOf(all, roots);
    for (const pid of tree) {
      const stat = all.get(pid);
      if (stat) last.set(pid, stat.cpu - (before.get(pid)?.cpu ?? 0));
    }
    const shares = tree.map((pid) => mebibytes(pid, 'smaps_rollup', 'Pss'));
    peak = Math.max(
      peak,
      shares.reduce((sum, share) => sum + share, 0),
    );
    peakOfFirst = Math.max(peakOfFirst, mebibytes(roots[0] ?? 0, 'status', 'VmRSS'));
  };
  const timer = setInterval(look, 500);
  look();
  return {
    end() {
      clearInterval(timer);
      look();
      return { cpu: [...last.values()].reduce((sum, seconds) => sum + seconds, 0), peak, peakOfFirst };
    },
  };
}

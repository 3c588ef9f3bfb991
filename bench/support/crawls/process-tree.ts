import { readdir, readFile } from 'node:fs/promises';

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

/** Every process of the machine, as Linux tells (proc(5)). */
async function processes(): Promise<Map<number, ProcessStat>> {
  const found = new Map<number, ProcessStat>();
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  await Promise.all(
    pids.map(async (pid) => {
      const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
      if (fields.length < 14) return;
      found.set(Number(pid), { parent: Number(fields[1]), cpu: (Number(fields[11]) + Number(fields[12])) / ticks });
    }),
  );
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

async function mebibytes(pid: number, file: string, field: string): Promise<number> {
  const text = await readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0) / 1024;
}

/** Watches processes and all they start, twice a second, until it is asked what they used. */
export async function watchTree(roots: readonly number[]): Promise<{ end(): Promise<TreeUse> }> {
  const before = await processes();
  const last = new Map<number, number>();
  let [peak, peakOfFirst] = [0, 0];
  const look = async (): Promise<void> => {
    const all = await processes();
    const tree = treeOf(all, roots);
    for (const pid of tree) {
      const stat = all.get(pid);
      if (stat) last.set(pid, stat.cpu - (before.get(pid)?.cpu ?? 0));
    }
    const shares = await Promise.all(tree.map((pid) => mebibytes(pid, 'smaps_rollup', 'Pss')));
    peak = Math.max(
      peak,
      shares.reduce((sum, share) => sum + share, 0),
    );
    peakOfFirst = Math.max(peakOfFirst, await mebibytes(roots[0] ?? 0, 'status', 'VmRSS'));
  };
  let looking = Promise.resolve();
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, 500);
  await look();
  return {
    async end() {
      clearInterval(timer);
      await looking;
      await look();
      return { cpu: [...last.values()].reduce((sum, seconds) => sum + seconds, 0), peak, peakOfFirst };
    },
  };
}

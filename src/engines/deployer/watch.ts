import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { CommandLimit } from '../../domain/ports/deployer.ts';
import type { BuildLimits } from './limits.ts';
import { processesOf } from './processes.ts';

const run = promisify(execFile);

/** How often processes are counted, and the disk; milliseconds. */
const lookEvery = 250;
const measureEvery = 10_000;

/** Bytes of files below a directory. */
async function diskUse(directory: string): Promise<number> {
  const { stdout } = await run('du', ['-skx', directory]).catch((error: { stdout?: string }) => ({
    stdout: error.stdout ?? '0',
  }));
  return Number.parseInt(stdout, 10) * 1024 || 0;
}

async function isOver(leader: number, limits: BuildLimits): Promise<CommandLimit | null> {
  const processes = await processesOf(leader);
  if (processes.length > limits.processes) return 'processes';
  return processes.reduce((sum, { memory }) => sum + memory, 0) > limits.memory ? 'memory' : null;
}

/**
 * Looks after a process group until told to stop.
 * @param onOver told once, at the first limit that is passed
 */
export function watchProcesses(
  { leader, directory }: { leader: number; directory: string },
  limits: BuildLimits,
  onOver: (limit: CommandLimit) => void,
): () => void {
  let ended = false;
  const repeat = async (look: () => Promise<CommandLimit | null>, every: number) => {
    while (!ended) {
      const over = await look().catch(() => null);
      if (over !== null && !ended) {
        ended = true;
        return onOver(over);
      }
      await new Promise((resolve) => setTimeout(resolve, every).unref());
    }
  };
  void repeat(() => isOver(leader, limits), lookEvery);
  void repeat(async () => ((await diskUse(directory)) > limits.workspace ? 'workspace' : null), measureEvery);
  return () => {
    ended = true;
  };
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { CommandLimit } from '../../domain/ports/deployer.ts';
import type { BuildProcesses } from './build-processes.ts';
import type { BuildLimits } from './limits.ts';

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

async function isOver(build: BuildProcesses, limits: BuildLimits): Promise<CommandLimit | null> {
  const processes = await build.find();
  if (processes.length > limits.processes) return 'processes';
  return processes.reduce((sum, { memory }) => sum + memory, 0) > limits.memory ? 'memory' : null;
}

/**
 * Watches the processes of a command, and its workspace.
 * @param onOver called once, at the first limit that is passed
 * @returns ends the watch
 */
export function watchProcesses(
  build: BuildProcesses,
  directory: string,
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
  void repeat(() => isOver(build, limits), lookEvery);
  void repeat(async () => ((await diskUse(directory)) > limits.workspace ? 'workspace' : null), measureEvery);
  return () => {
    ended = true;
  };
}

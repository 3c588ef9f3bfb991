import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Benchmark, check, timedCase } from './benchmark.ts';
import { processorTime } from './support/crawls/process-tree.ts';
import { startServer } from './support/server.ts';

/** Milliseconds until a command has ended. */
async function timeOf(program: string, words: readonly string[], cwd: string): Promise<number> {
  const began = performance.now();
  const child = spawn(program, words, { cwd, stdio: 'ignore' });
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('exit', resolve));
  check(code === 0, `${program} ${words.join(' ')} ended with ${code}`);
  return performance.now() - began;
}

/**
 * Start to ready: on a new data directory, where the cluster is made and the demo imported, and on one that was used before. Beside it stands
 * the least that a command can cost: node and npm that do nothing.
 */
export const start: Benchmark = {
  name: 'start',
  summary: 'Milliseconds from npm start to /readyz 200: warm, and cold (new data directory, demo included).',
  async run({ defer, directory, say, scaled }) {
    const runs = { cold: scaled(5), warm: scaled(15) };
    const root = await directory();
    const started = async (dataDir: string, byNpm: boolean) => {
      const server = await startServer({ dataDir, byNpm });
      defer(server.stop);
      const cpu = processorTime(server.pid) * 1_000;
      await server.stop();
      return { ...server, cpu };
    };
    const empty = path.join(root, 'empty');
    await mkdir(empty);
    await writeFile(path.join(empty, 'package.json'), '{"scripts": {"start": "exec node -e 0"}}');
    const cold: number[] = [];
    for (let run = 0; run < runs.cold; run += 1) {
      const dataDir = path.join(root, `cold-${run}`);
      await mkdir(dataDir, { mode: 0o700 });
      cold.push((await started(dataDir, false)).sinceNode);
      say(`cold ${run + 1} of ${runs.cold}`);
    }
    const warm = {
      npm: [] as number[],
      cpu: [] as number[],
      node: [] as number[],
      nothing: [] as number[],
      script: [] as number[],
    };
    // What is compared is measured in the same moments.
    for (let run = 0; run < runs.warm; run += 1) {
      const dataDir = path.join(root, 'cold-0');
      const { sinceSpawn, cpu } = await started(dataDir, true);
      warm.npm.push(sinceSpawn);
      warm.cpu.push(cpu);
      warm.node.push((await started(dataDir, false)).sinceNode);
      warm.nothing.push(await timeOf(process.execPath, ['-e', '0'], empty));
      warm.script.push(await timeOf('npm', ['start'], empty));
      say(`warm ${run + 1} of ${runs.warm}`);
    }
    const beside = { '`node -e 0`': warm.nothing, '`npm start` of an empty script': warm.script };
    return {
      cases: [
        timedCase('warm start, since `npm start` was entered', warm.npm, { atMost: 1_200, beside }),
        timedCase('processor time of npm and node until then', warm.cpu),
        timedCase('warm start, since node began', warm.node, { atMost: 1_500 }),
        timedCase('cold start, since node began', cold, { atMost: 6_000 }),
      ],
      notes: [
        'Ready: `/readyz` answers 200 and the address is shown. Files are in the page cache of the system; nothing has to be compiled.',
      ],
    };
  },
};

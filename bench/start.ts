import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { type Benchmark, timedCase } from './benchmark.ts';
import { type RunningServer, startServer } from './support/server.ts';

/** Start to ready: on a new data directory, where the cluster is made and the demo imported, and on one that was used before. */
export const start: Benchmark = {
  name: 'start',
  summary: 'Milliseconds from start to /readyz 200: cold (new data directory, demo included) and warm.',
  async run({ defer, directory, say, scaled }) {
    const runs = { cold: scaled(5), warm: scaled(9) };
    const measure = async (dataDir: string): Promise<Pick<RunningServer, 'sinceSpawn' | 'sinceNode'>> => {
      const server = await startServer({ dataDir });
      defer(server.stop);
      await server.stop();
      return server;
    };
    const root = await directory();
    const found: Record<'cold' | 'warm', Pick<RunningServer, 'sinceSpawn' | 'sinceNode'>[]> = { cold: [], warm: [] };
    for (let run = 0; run < runs.cold; run += 1) {
      const dataDir = path.join(root, `cold-${run}`);
      await mkdir(dataDir, { mode: 0o700 });
      found.cold.push(await measure(dataDir));
      say(`cold ${run + 1} of ${runs.cold}`);
    }
    for (let run = 0; run < runs.warm; run += 1) {
      found.warm.push(await measure(path.join(root, 'cold-0')));
      say(`warm ${run + 1} of ${runs.warm}`);
    }
    const since = (kind: 'cold' | 'warm', from: 'sinceNode' | 'sinceSpawn') =>
      found[kind].map((server) => server[from]);
    return {
      cases: [
        timedCase('cold start, since node began', since('cold', 'sinceNode'), { atMost: 6_000 }),
        timedCase('warm start, since node began', since('warm', 'sinceNode'), { atMost: 1_500 }),
        timedCase('cold start, since the process was spawned', since('cold', 'sinceSpawn')),
        timedCase('warm start, since the process was spawned', since('warm', 'sinceSpawn')),
      ],
      notes: ['Ready: `/readyz` answers 200 and the address is shown. Files are in the page cache of the system.'],
    };
  },
};

import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Benchmark } from './benchmark.ts';
import { type RunningServer, startServer } from './support/server.ts';
import { median, spread, spreadColumns } from './support/statistics.ts';

const runs = { cold: 5, warm: 9 };

/** Start to ready: on a new data directory, where the cluster is made and the demo imported, and on one that was used before. */
export const start: Benchmark = {
  name: 'start',
  summary: 'Milliseconds from start to /readyz 200: cold (new data directory, demo included) and warm.',
  async run({ defer, directory, say }) {
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
    const row = (kind: 'cold' | 'warm', from: 'sinceNode' | 'sinceSpawn') => [
      kind,
      from === 'sinceNode' ? "node's own start" : 'spawn of the process',
      found[kind].length,
      ...spread(found[kind].map((server) => server[from])),
    ];
    const middle = (kind: 'cold' | 'warm') => median(found[kind].map(({ sinceNode }) => sinceNode));
    return {
      columns: ['start', 'measured from', 'runs', ...spreadColumns.map((name) => `${name} ms`)],
      rows: [row('cold', 'sinceNode'), row('cold', 'sinceSpawn'), row('warm', 'sinceNode'), row('warm', 'sinceSpawn')],
      goals: [
        { name: 'cold start, median', value: middle('cold'), unit: 'ms', atMost: 6_000 },
        { name: 'warm start, median', value: middle('warm'), unit: 'ms', atMost: 1_500 },
      ],
      notes: ['Ready: `/readyz` answers 200 and the address is shown. Files are in the page cache of the system.'],
    };
  },
};

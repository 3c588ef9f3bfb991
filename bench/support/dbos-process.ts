/**
 * Three steps as DBOS does them: each result in its tables before the next begins. Arguments: the database's URL. Sent a number, it starts so
 * many workflows, a hundred at a time, waits for their results, and sends its parent how many a second that were.
 */
import { DBOS } from '@dbos-inc/dbos-sdk';
import pg from 'pg';

const together = 100;
const pool = new pg.Pool({ connectionString: process.argv[2] ?? '', max: 20 });
pool.on('error', () => process.exit(1));
DBOS.setConfig({ name: 'bench', systemDatabasePool: pool, logLevel: 'error' });

interface Input {
  number: number;
  name: string;
}
const work = DBOS.registerWorkflow(
  async ({ name }: Input) => {
    let last = '';
    for (const id of ['a', 'b', 'c']) last = await DBOS.runStep(async () => name, { name: id });
    return last;
  },
  { name: 'three' },
);
await DBOS.launch();

async function rateOf(count: number): Promise<number> {
  const began = performance.now();
  let begun = 0;
  const lane = async () => {
    while (begun < count) {
      begun += 1;
      const handle = await DBOS.startWorkflow(work)({ number: begun, name: 'Ann' });
      if ((await handle.getResult()) !== 'Ann') throw new Error('a workflow has another result');
    }
  };
  await Promise.all(Array.from({ length: together }, lane));
  return (count * 1000) / (performance.now() - began);
}

process.on('message', async (count: number) => process.send?.(await rateOf(count)));
process.once('disconnect', () => process.exit(0));
process.send?.('ready');

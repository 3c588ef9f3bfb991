/**
 * Writes commit after commit and prints each one's id once it is acknowledged, until it is killed. Arguments: the data directory, the
 * repository's id, the number of concurrent writers.
 */
import { writeSync } from 'node:fs';
import path from 'node:path';
import { createGitStore } from '../../src/engines/git/store.ts';
import { createSpools } from '../../src/engines/spool/spool.ts';

const [, , dataDir = '', id = '', writers = '1'] = process.argv;
const log = { info() {}, warn() {}, error() {} };
const person = { name: 'Writer', email: 'writer@example.org' };
const spools = createSpools(path.join(dataDir, 'spool'));
const repository = createGitStore({ dataDir, spools, log, committer: person, now: () => new Date() }).open(id);

async function loop(writer: number): Promise<never> {
  for (let turn = 0; ; turn += 1) {
    const changes = [{ path: `d${turn % 5}/w${writer}.md`, content: Buffer.from(`${process.pid} ${turn}`) }];
    const { commit } = await repository.write({
      branch: 'main',
      author: person,
      plan: async () => ({ changes, message: `${writer} ${turn}`, result: null }),
    });
    // Synchronous: what is printed is acknowledged, whatever happens next.
    writeSync(1, `${commit?.sha}\n`);
  }
}

await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => loop(writer)));

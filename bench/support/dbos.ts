import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Bench } from '../benchmark.ts';

/** DBOS in a process of its own, its tables in a schema of its own. @returns how to let it do so many workflows; executions a second */
export async function startDbos(bench: Bench, databaseUrl: string): Promise<(count: number) => Promise<number>> {
  const child = fork(path.join(import.meta.dirname, 'dbos-process.js'), [databaseUrl], { execArgv: [] });
  bench.defer(() => void child.kill());
  const failed = once(child, 'exit').then(([code]) => Promise.reject(new Error(`DBOS ended with ${code}`)));
  failed.catch(() => {});
  const nextMessage = async () => ((await Promise.race([once(child, 'message'), failed])) as [unknown])[0];
  await nextMessage();
  return async (count) => {
    child.send(count);
    return Number(await nextMessage());
  };
}

import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Bench } from '../../benchmark.ts';
import { startFlags } from '../server.ts';
import type { FrontierAnswer, FrontierCommand } from './frontier-process.ts';

/** A frontier in a process of its own, with the options of node the server has: they decide how much memory it holds. */
export interface FrontierChild {
  /** URLs of the frontier, in any state. */
  readonly urls: number;
  /** @returns what the command says */
  request(command: FrontierCommand): Promise<number>;
}

/** Begins a run with so many URLs, on a database of its own. */
export async function startFrontier(bench: Bench, entries: number): Promise<FrontierChild> {
  const directory = path.join(await bench.directory(), 'data');
  const child = fork(path.join(import.meta.dirname, 'frontier-process.js'), {
    execArgv: [...startFlags, '--expose-gc'],
  });
  let urls = 0;
  const request = async (command: FrontierCommand): Promise<number> => {
    child.send(command);
    const [answer] = (await once(child, 'message')) as [FrontierAnswer];
    if ('failed' in answer) throw new Error(answer.failed);
    urls = answer.urls;
    return answer.figure;
  };
  bench.defer(async () => {
    const ended = once(child, 'exit');
    child.send({ kind: 'end' } satisfies FrontierCommand);
    await ended;
  });
  await request({ kind: 'begin', directory, entries });
  return {
    get urls() {
      return urls;
    },
    request,
  };
}

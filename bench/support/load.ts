import { fork } from 'node:child_process';
import path from 'node:path';

export interface LoadOptions {
  url: string;
  connections: number;
  /** Seconds; without meaning where an amount is given. */
  duration: number;
  /** So many requests in all. */
  amount?: number;
  headers: Record<string, string>;
  /** Default GET. */
  method?: 'POST';
  body?: string;
}

export interface LoadResult {
  perSecond: number;
  answered: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  max: number;
  /** Answers that were not 2xx, and broken connections. */
  failed: number;
}

/**
 * As many requests as the server answers, from a process of its own.
 * @throws Error when a request failed: its time would count as an answer's.
 */
export async function load(options: LoadOptions): Promise<LoadResult> {
  const child = fork(path.join(import.meta.dirname, 'load-process.js'), { execArgv: [] });
  try {
    const result = await new Promise<LoadResult>((resolve, reject) => {
      child.once('message', (message) => resolve(message as LoadResult));
      child.once('error', reject);
      child.once('exit', (code) => reject(new Error(`The load generator ended with ${code}`)));
      child.send(options);
    });
    if (result.failed > 0) throw new Error(`${result.failed} requests to ${new URL(options.url).pathname} failed`);
    return result;
  } finally {
    child.kill();
  }
}

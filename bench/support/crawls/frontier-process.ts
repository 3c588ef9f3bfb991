import { FrontierWorker } from './frontier-worker.ts';

/** What the parent asks of the process that works on a frontier. */
export type FrontierCommand =
  | { kind: 'begin'; directory: string; entries: number }
  /** One transaction, each page with so many new links; milliseconds. */
  | { kind: 'batch'; links: number }
  /** Counts the URLs again; milliseconds. */
  | { kind: 'count' }
  /** Resident memory after a collection, MiB. */
  | { kind: 'memory' }
  | { kind: 'end' };

/** A figure, with the URLs of the frontier by then. */
export type FrontierAnswer = { figure: number; urls: number } | { failed: string };

const ends: (() => Promise<void> | void)[] = [];
let worker: FrontierWorker | undefined;

async function execute(command: FrontierCommand): Promise<number> {
  if (command.kind === 'begin') {
    worker = await FrontierWorker.begin(command.directory, command.entries, (end) => ends.push(end));
    return 0;
  }
  if (command.kind === 'batch') return (await worker?.batch(command.links)) ?? 0;
  if (command.kind === 'count') return (await worker?.count()) ?? 0;
  if (command.kind === 'end') {
    for (let end = ends.pop(); end; end = ends.pop()) await end();
    if (process.connected) process.disconnect();
    return 0;
  }
  globalThis.gc?.();
  return process.memoryUsage().rss / 2 ** 20;
}

process.on('message', async (command: FrontierCommand) => {
  const answer: FrontierAnswer = await execute(command).then(
    (figure) => ({ figure, urls: worker?.urls ?? 0 }),
    (error: unknown) => ({ failed: String(error) }),
  );
  if (process.connected) process.send?.(answer);
});

// Also when the parent is gone the database has to end.
process.on('disconnect', () => void execute({ kind: 'end' }));

import { runCorpus } from './command.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort(new Error(signal)));
// A reader that has seen enough (`| head`) is no fault.
process.stdout.on('error', () => stop.abort(new Error('nobody reads')));

/** One line that is written over. */
const progress = (text: string) =>
  void process.stderr.write(`\r\x1b[K${text.slice(0, (process.stderr.columns ?? 80) - 1)}`);

process.exitCode = await runCorpus(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  ...(process.stderr.isTTY && { progress }),
  signal: stop.signal,
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Bench, type Benchmark, isReached, type Report } from './benchmark.ts';
import { commit } from './commit.ts';
import { entries } from './entries.ts';
import { organization } from './organization.ts';
import { start } from './start.ts';
import { describeMachine } from './support/machine.ts';
import { markdownOf } from './support/markdown.ts';

const benchmarks: readonly Benchmark[] = [start, organization, entries, commit];

/** One benchmark; a machine that needs longer is not of the class the figures are for. */
const timeLimit = 180_000;

/** Calls what was deferred, last first; safe to call twice. */
function ending() {
  const ends: (() => Promise<void> | void)[] = [];
  return {
    defer: (end: () => Promise<void> | void) => void ends.push(end),
    async end() {
      for (let end = ends.pop(); end; end = ends.pop()) {
        await Promise.resolve(end()).catch((error: unknown) => process.stderr.write(`cleaning up: ${error}\n`));
      }
    },
  };
}

async function runOne({ name, run }: Benchmark): Promise<Report> {
  const { defer, end } = ending();
  const stop = new AbortController();
  const interrupt = () => stop.abort(new Error('interrupted'));
  // Also after a mistake of the benchmark itself the servers it started have to end.
  const fail = (error: unknown) => stop.abort(error);
  process.on('uncaughtException', fail);
  const timer = setTimeout(() => stop.abort(new Error(`took longer than ${timeLimit / 1000} s`)), timeLimit);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);
  const bench: Bench = {
    defer,
    async directory() {
      const made = await mkdtemp(path.join(tmpdir(), 'portico-bench-'));
      defer(() => rm(made, { recursive: true, force: true }));
      return made;
    },
    say: (text) => void process.stderr.write(`${name}: ${text}\n`),
  };
  try {
    const stopped = new Promise<never>((_resolve, reject) => {
      stop.signal.addEventListener('abort', () => reject(stop.signal.reason), { once: true });
    });
    return await Promise.race([run(bench), stopped]);
  } finally {
    clearTimeout(timer);
    await end();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupt);
    process.off('uncaughtException', fail);
  }
}

async function main(words: readonly string[]): Promise<number> {
  const names = words.filter((word) => !word.startsWith('--'));
  const wanted = names.includes('all') ? benchmarks : benchmarks.filter(({ name }) => names.includes(name));
  const unknown = names.filter((name) => name !== 'all' && !benchmarks.some((known) => known.name === name));
  if (unknown.length > 0) process.stderr.write(`There is no benchmark ${unknown.join(', ')}.\n\n`);
  if (unknown.length > 0 || wanted.length === 0) {
    process.stdout.write('npm run bench -- <name> … [--json]\n\n');
    for (const { name, summary } of benchmarks) process.stdout.write(`${name.padEnd(14)}${summary}\n`);
    process.stdout.write(`${'all'.padEnd(14)}All of them, one after the other.\n`);
    return unknown.length > 0 ? 1 : 0;
  }
  const machine = await describeMachine();
  let reached = true;
  for (const benchmark of wanted) {
    const report = await runOne(benchmark);
    const { name } = benchmark;
    process.stdout.write(markdownOf(name, machine, report));
    if (words.includes('--json')) {
      const goals = report.goals.map((goal) => ({ ...goal, reached: isReached(goal) }));
      process.stdout.write(`${JSON.stringify({ benchmark: name, machine, ...report, goals })}\n`);
    }
    reached &&= report.goals.every(isReached);
  }
  return reached ? 0 : 2;
}

// What a benchmark left running after its time limit must not keep the process.
process.exit(await main(process.argv.slice(2)));

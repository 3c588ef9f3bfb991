import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { annotate } from './annotate.ts';
import { assistant } from './assistant.ts';
import { type Bench, type Benchmark, isReached, type Report } from './benchmark.ts';
import { blob } from './blob.ts';
import { blockEdits } from './block-edits.ts';
import { browser } from './browser.ts';
import { clone } from './clone.ts';
import { commit } from './commit.ts';
import { crawl } from './crawl.ts';
import { dashboard } from './dashboard.ts';
import { deploy } from './deploy.ts';
import { entries } from './entries.ts';
import { executions } from './executions.ts';
import { fields } from './fields.ts';
import { frontier } from './frontier.ts';
import { graphql } from './graphql.ts';
import { history } from './history.ts';
import { hostile } from './hostile.ts';
import { inPage } from './in-page.ts';
import { largeBody } from './large-body.ts';
import { latency } from './latency.ts';
import { live } from './live.ts';
import { memory } from './memory.ts';
import { merge } from './merge.ts';
import { organization } from './organization.ts';
import { pages } from './pages.ts';
import { preview } from './preview.ts';
import { routes } from './routes.ts';
import { schedules } from './schedules.ts';
import { search } from './search.ts';
import { sites } from './sites.ts';
import { start } from './start.ts';
import { describeMachine } from './support/machine.ts';
import { markdownOf } from './support/markdown.ts';
import { repositoriesDirectory } from './support/repositories.ts';
import { tools } from './tools.ts';
import { visits } from './visits.ts';
import { webhook } from './webhook.ts';

const studio: readonly Benchmark[] = [
  commit,
  entries,
  search,
  blob,
  merge,
  fields,
  clone,
  deploy,
  live,
  preview,
  routes,
  memory,
];
const benchmarks: readonly Benchmark[] = [
  start,
  organization,
  graphql,
  tools,
  assistant,
  dashboard,
  ...studio,
  sites,
  visits,
  annotate,
  crawl,
  browser,
  frontier,
  schedules,
  pages,
  executions,
  webhook,
  latency,
  largeBody,
  hostile,
  inPage,
  blockEdits,
  history,
];

/** Milliseconds for one benchmark; a machine that needs longer is not of the class the figures are for. */
const timeLimits = { usual: 600_000, large: 1_800_000 };

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

/** What follows an option's `=`; null: the option is not there. */
function givenBy(options: ReadonlySet<string>, option: string): string | null {
  return [...options].find((each) => each.startsWith(`${option}=`))?.slice(option.length + 1) ?? null;
}

/** The numbers of `--pages=1000,10000`; null: the option is not there. @throws Error for what is no number of pages */
function pagesIn(options: ReadonlySet<string>): number[] | null {
  const given = givenBy(options, '--pages');
  if (given === null) return null;
  return given.split(',').map((text) => {
    if (!/^[1-9]\d{0,6}$/.test(text)) throw new Error(`--pages=${given}: numbers of pages with commas between`);
    return Number(text);
  });
}

async function runOne({ name, run, minutes }: Benchmark, options: ReadonlySet<string>): Promise<Report> {
  const { defer, end } = ending();
  const stop = new AbortController();
  const interrupt = () => stop.abort(new Error('interrupted'));
  // Also after a mistake of the benchmark itself the servers it started have to end.
  const fail = (error: unknown) => stop.abort(error);
  process.on('uncaughtException', fail);
  const usual = timeLimits[options.has('--large') ? 'large' : 'usual'];
  const timeLimit = minutes === undefined ? usual : minutes * 60_000;
  const timer = setTimeout(() => stop.abort(new Error(`took longer than ${timeLimit / 1000} s`)), timeLimit);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);
  const bench: Bench = {
    large: options.has('--large'),
    pages: pagesIn(options),
    only: givenBy(options, '--only'),
    corpus: givenBy(options, '--corpus'),
    scaled: (count, least = 1) => (options.has('--small') ? Math.max(least, Math.ceil(count / 20)) : count),
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

/** One table out of several, each case under its benchmark's name. */
const joined = (reports: readonly (readonly [string, Report])[]): Report => ({
  cases: reports.flatMap(([name, { cases }]) => cases.map((found) => ({ ...found, name: `${name}: ${found.name}` }))),
  notes: reports.flatMap(([name, { notes }]) => notes.map((note) => `${name}: ${note}`)),
});

const usage = `npm run bench -- <name> … [--small] [--large] [--pages=<n>,…] [--only=<text>] [--corpus=<dir>] [--json]

${benchmarks.map(({ name, summary }) => `${name.padEnd(14)}${summary}\n`).join('')}
${'studio'.padEnd(14)}${studio.map(({ name }) => name).join(', ')}, in one table.
${'all'.padEnd(14)}All of them, one after the other.
${'clean'.padEnd(14)}Removes the generated repositories, which are kept in ${repositoriesDirectory}.

--small         A twentieth of everything: shows that all works, and no figure means anything.
--large         Also a collection of 100,000 entries over HTTP.
--pages=<n>,…   Crawls of sites of so many pages alone, in place of 1,000 and 10,000.
--only=<text>   Hostile bodies for endpoints, and sites, whose name has this in it alone.
--corpus=<dir>  Sites: in place of builds, what each file of the sites of a directory, or of archives in it, is taken for. Block-edits: their texts.
--json          Each report once more as a line of JSON.
`;

async function main(words: readonly string[]): Promise<number> {
  const names = words.filter((word) => !word.startsWith('--'));
  const options = new Set(words.filter((word) => word.startsWith('--')));
  if (names.includes('clean')) {
    await rm(repositoriesDirectory, { recursive: true, force: true });
    return 0;
  }
  const known = new Set([...benchmarks.map(({ name }) => name), 'studio', 'all']);
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0) process.stderr.write(`There is no benchmark ${unknown.join(', ')}.\n\n`);
  if (unknown.length > 0 || names.length === 0) {
    process.stdout.write(usage);
    return unknown.length > 0 ? 1 : 0;
  }
  const machine = `${await describeMachine()}${options.has('--small') ? '; **small: the figures mean nothing**' : ''}`;
  const print = (name: string, report: Report) => {
    process.stdout.write(markdownOf(name, machine, report));
    if (options.has('--json')) {
      const cases = report.cases.map((found) => ({ ...found, reached: isReached(found) }));
      process.stdout.write(`${JSON.stringify({ benchmark: name, machine, ...report, cases })}\n`);
    }
    return report.cases.every(isReached);
  };
  let reached = true;
  const together: [string, Report][] = [];
  const apart = benchmarks.filter(({ name }) => names.includes('all') || names.includes(name));
  for (const benchmark of apart) reached = print(benchmark.name, await runOne(benchmark, options)) && reached;
  for (const benchmark of names.includes('studio') ? studio : []) {
    together.push([benchmark.name, await runOne(benchmark, options)]);
  }
  if (together.length > 0) reached = print('studio', joined(together)) && reached;
  return reached ? 0 : 2;
}

// What a benchmark left running after its time limit must not keep the process.
process.exit(await main(process.argv.slice(2)));

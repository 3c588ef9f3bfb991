import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { GitProcesses } from '../src/engines/git/git-process.ts';
import { type Options, parseOptions, UsageError, usage } from './arguments.ts';
import { checkSource } from './checks/check-source.ts';
import { GitLineMerge } from './checks/git-line-merge.ts';
import { type Engine, serviceEngine } from './engine.ts';
import { Fixtures } from './fixtures.ts';
import { textOf } from './print.ts';
import { type CorpusReport, type SourceReport, totalOf, wrongIn } from './report.ts';
import { sourcesAt } from './sources/open-sources.ts';

/** Where a run writes, when it stops, and what it tries. */
export interface Surroundings {
  out(text: string): void;
  err(text: string): void;
  /** Shows how far it is; absent where nobody watches. */
  progress?(text: string): void;
  signal: AbortSignal;
  /** Absent: the service's own. */
  engine?: Engine;
}

/**
 * The whole command: tries the engine on every source named and prints what it found. Sources are only read.
 * @returns the exit code: 0, 1 when anything is wrong, 2 when the words make no sense, 130 when it was interrupted
 */
export async function runCorpus(words: readonly string[], surroundings: Surroundings): Promise<number> {
  const { out, err, signal } = surroundings;
  try {
    const options = parseOptions(words);
    if (options.help) {
      out(usage);
      return 0;
    }
    const report = await inScratch((scratch) => checkAll(options, scratch, surroundings));
    out(options.json ? `${JSON.stringify(report, null, 2)}\n` : textOf(report));
    return wrongIn(report.total) > 0 ? 1 : 0;
  } catch (error) {
    if (signal.aborted) {
      err('Interrupted; nothing is reported.\n');
      return 130;
    }
    if (!(error instanceof UsageError)) throw error;
    err(`${error.message}\n\n${usage}`);
    return 2;
  }
}

async function inScratch<Result>(run: (scratch: string) => Promise<Result>): Promise<Result> {
  const scratch = await mkdtemp(join(tmpdir(), 'portico-corpus-work-'));
  try {
    return await run(scratch);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function checkAll(options: Options, scratch: string, surroundings: Surroundings): Promise<CorpusReport> {
  const { signal, engine = serviceEngine } = surroundings;
  const home = join(scratch, 'home');
  await mkdir(home);
  const processes = new GitProcesses(home);
  const fixtures = new Fixtures(fixturesOf(options));
  const reports: SourceReport[] = [];
  try {
    const opening = { processes, signal, ref: options.ref };
    const found = await Promise.all(options.sources.map((path) => sourcesAt(path, opening)));
    for (const sources of found) {
      const seen = new Set<string>();
      for (const open of sources) {
        const source = await open();
        const progress = (done: number, of: number) => surroundings.progress?.(`${source.name}: ${done} of ${of}`);
        const lines = new GitLineMerge(processes, scratch, signal);
        reports.push(await checkSource(source, { engine, fixtures, lines, options, signal, seen, progress }));
        await source.close();
      }
    }
  } finally {
    surroundings.progress?.('');
    await processes.close();
  }
  return { seed: options.seed, sources: reports, total: totalOf(reports), fixtures: fixtures.directory };
}

/** @throws UsageError when reproductions would be written into what is only to be read */
function fixturesOf({ fixtures, sources }: Options): string | undefined {
  if (fixtures === undefined) return undefined;
  const inside = sources.find((source) => !relative(resolve(source), resolve(fixtures)).startsWith('..'));
  if (inside === undefined) return resolve(fixtures);
  throw new UsageError(`--fixtures must not lie inside of ${inside}, which is only read.`);
}

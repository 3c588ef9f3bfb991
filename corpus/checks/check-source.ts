import { extensionOf, markdownExtensions } from '../../src/domain/studio/schema/site-layout.ts';
import type { Options } from '../arguments.ts';
import { newReport, type SourceReport } from '../report.ts';
import { seeded } from '../seeded.ts';
import type { ListedFile, Source } from '../sources/source.ts';
import { checkFile } from './check-file.ts';
import { checkPairs } from './check-pairs.ts';
import { checkRoutes } from './check-routes.ts';
import { checkSchemas } from './check-schemas.ts';
import type { MergeTrial } from './merge-trial.ts';
import { type Candidate, randomMerge } from './random-merges.ts';

export interface SourceRun extends Omit<MergeTrial, 'report' | 'seed'> {
  options: Pick<Options, 'sample' | 'random' | 'seed'>;
  signal: AbortSignal;
  /** Content a source before this one had, `<oid>:<path>`; what is looked at is added. */
  seen: Set<string>;
  progress(done: number, of: number): void;
}

/** Puts every entry of a source through all checks. */
export async function checkSource(source: Source, run: SourceRun): Promise<SourceReport> {
  const { options, signal } = run;
  const report = newReport(source.name, source.kind, source);
  const trial: MergeTrial = { ...run, report, seed: options.seed };
  const { schema, owns } = await checkSchemas(source, signal);
  report.schema = schema;
  await checkRoutes(source, report, signal);
  const entries = source.files.filter(({ path }) => isEntry(path, owns));
  const fresh = entries.filter(({ oid, path }) => oid === '' || !run.seen.has(`${oid}:${path}`));
  report.repeated = entries.length - fresh.length;
  for (const { oid, path } of fresh) run.seen.add(`${oid}:${path}`);
  const sample = spread(fresh, options.sample ?? fresh.length);
  const readable: ListedFile[] = [];
  for (const [at, file] of sample.entries()) {
    signal.throwIfAborted();
    run.progress(at, sample.length);
    const bytes = await source.read(file);
    if (bytes === null) continue;
    const parsed = await checkFile(trial, file, bytes);
    if (parsed.frontmatter === null) continue;
    readable.push(file);
    await checkPairs(trial, file, bytes, parsed);
  }
  await mergeAtRandom(source, trial, readable, run);
  return report;
}

const notContent = /(?:^|\/)(?:archetypes|scaffolds|node_modules|\.[^/]*)(?:\/|$)/;

/** Markdown anywhere but where it is a pattern or somebody else's, and the data files of collections. */
function isEntry(path: string, owns: (path: string) => boolean): boolean {
  if (notContent.test(path)) return false;
  return markdownExtensions.some((known) => known === extensionOf(path)) || owns(path);
}

/** At most `count` of the files, evenly spread. */
function spread(files: readonly ListedFile[], count: number): ListedFile[] {
  if (files.length <= count) return [...files];
  return Array.from({ length: count }, (_, at) => files[Math.floor((at * files.length) / count)] as ListedFile);
}

async function mergeAtRandom(source: Source, trial: MergeTrial, files: readonly ListedFile[], run: SourceRun) {
  const random = seeded(`${trial.seed}:files:${source.name}`);
  for (let number = 0; number < run.options.random && files.length > 0; number++) {
    run.signal.throwIfAborted();
    run.progress(number, run.options.random);
    const file = files[random(files.length)] as ListedFile;
    const bytes = await source.read(file);
    if (bytes === null) continue;
    const candidate: Candidate = { file, bytes, parsed: trial.engine.parse(bytes, file.path) };
    await randomMerge(trial, number, candidate);
  }
}

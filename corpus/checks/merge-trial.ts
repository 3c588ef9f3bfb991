import { count, type MergeName } from '../report.ts';
import { attempt } from './attempt.ts';
import type { GitLineMerge } from './git-line-merge.ts';
import { type Trial, timed } from './trial.ts';

export interface MergeTrial extends Trial {
  lines: GitLineMerge;
}

export interface ToMerge {
  path: string;
  base: Buffer;
  current: Buffer;
  incoming: Buffer;
  /** What the two sides did, for the reproduction. */
  edit: unknown;
}

/**
 * Merges with the engine and with git, and counts both. A result the judge finds fault with is wrong and kept.
 * @param judge what is wrong with a merged text; null when nothing is
 */
export async function mergeAndCount(
  trial: MergeTrial,
  name: MergeName,
  { path, base, current, incoming, edit }: ToMerge,
  judge: (merged: string) => string | null | Promise<string | null>,
): Promise<void> {
  const { report, fixtures, engine, lines } = trial;
  const tally = report.merges[name];
  const texts = {
    base: base.toString('utf8'),
    current: current.toString('utf8'),
    incoming: incoming.toString('utf8'),
  };
  if ((await lines.merge(texts)) === null) tally.git_conflicts++;
  const outcome = attempt(() => timed(trial, 'merge', () => engine.merge({ path, base, current, incoming })));
  const merged = 'result' in outcome && outcome.result.kind === 'clean' ? outcome.result.bytes : null;
  if ('result' in outcome && outcome.result.kind === 'conflict') {
    tally.conflicts++;
    const { fields, hunks, reason } = outcome.result.conflict;
    count(tally.reasons, reason ?? `${fields.length > 0 ? 'fields' : ''}${hunks.length > 0 ? ' body' : ''}`.trim());
    return;
  }
  const text = merged?.toString('utf8');
  const fault = text === undefined ? failureOf(outcome) : await judge(text);
  if (fault === null) {
    tally.merged++;
    return;
  }
  tally.wrong++;
  count(tally.reasons, fault);
  const files = { ...texts, ...(text !== undefined && { merged: text }) };
  const directory = await fixtures.write({ source: report.source, path, check: name, fault, edit, files });
  if (directory !== null) report.reproductions.push(directory);
}

function failureOf(outcome: ReturnType<typeof attempt>): string {
  if ('crash' in outcome) return outcome.crash;
  return 'refusal' in outcome ? outcome.refusal : 'the file is gone';
}

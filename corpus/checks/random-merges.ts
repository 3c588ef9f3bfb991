import type { ParsedFile } from '../../src/domain/studio/frontmatter/values.ts';
import { judgeMerge } from '../oracle/judge-merge.ts';
import { pick, type Random, seeded } from '../seeded.ts';
import type { ListedFile } from '../sources/source.ts';
import { attempt } from './attempt.ts';
import { applyChange, type Change } from './change.ts';
import { type MergeTrial, mergeAndCount } from './merge-trial.ts';
import { planEdits } from './plan-edits.ts';

/** A readable file, by the name it is read again. */
export interface Candidate {
  file: ListedFile;
  bytes: Buffer;
  parsed: ParsedFile;
}

/** One three-way merge of a file both sides have changed at random: some fields, perhaps lines of the body. */
export async function randomMerge(trial: MergeTrial, number: number, candidate: Candidate): Promise<void> {
  const { bytes, file } = candidate;
  const random = seeded(`${trial.seed}:merge:${number}:${file.path}`);
  const sides = [randomSide(trial, candidate, random), randomSide(trial, candidate, random)];
  const [current, incoming] = sides;
  if (!current || !incoming) {
    trial.report.merges.random_merges.not_tried++;
    return;
  }
  const versions = {
    base: bytes.toString('utf8'),
    current: current.bytes.toString('utf8'),
    incoming: incoming.bytes.toString('utf8'),
  };
  const edit = { current: current.changes, incoming: incoming.changes };
  const toMerge = { path: file.path, base: bytes, current: current.bytes, incoming: incoming.bytes, edit };
  await mergeAndCount(trial, 'random_merges', toMerge, (merged) =>
    judgeMerge(versions, merged, file.path, trial.lines),
  );
}

/** One to three edits of the frontmatter, and in half of the cases a line of the body; null when the engine refuses them. */
function randomSide({ engine }: MergeTrial, { bytes, file, parsed }: Candidate, random: Random) {
  let frontmatter = parsed.frontmatter ?? {};
  const changes: Change[] = [];
  for (let left = 1 + random(3); left > 0; left--) {
    const { change } = pick(planEdits(frontmatter, random), random);
    // Two sides that write the same text would not differ.
    const own =
      'value' in change && typeof change.value === 'string'
        ? { ...change, value: `${change.value} ${random(9)}` }
        : change;
    changes.push(own);
    frontmatter = applyChange(frontmatter, own);
  }
  const body = parsed.kind === 'content' && random(2) === 0 ? changedBody(parsed.body, random) : undefined;
  const outcome = attempt(() => engine.edit(bytes, file.path, { frontmatter, ...(body !== undefined && { body }) }));
  return 'result' in outcome
    ? { bytes: outcome.result.bytes, changes: [...changes, ...(body === undefined ? [] : ['body'])] }
    : null;
}

function changedBody(body: string, random: Random): string {
  const lines = body.split('\n');
  const at = random(lines.length);
  const end = body.includes('\r\n') ? '\r' : '';
  const replaced = random(3);
  lines.splice(at, replaced === 0 ? 0 : 1, ...(replaced === 1 ? [] : [`A line of its own ${random(1000)}.${end}`]));
  return lines.join('\n');
}

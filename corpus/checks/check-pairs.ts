import type { Frontmatter, ParsedFile } from '../../src/domain/studio/frontmatter/values.ts';
import { isRecord } from '../../src/lib/objects.ts';
import { judgePair } from '../oracle/judge-merge.ts';
import { seeded } from '../seeded.ts';
import type { ListedFile } from '../sources/source.ts';
import { attempt } from './attempt.ts';
import { applyChange, type Change } from './change.ts';
import { type MergeTrial, mergeAndCount } from './merge-trial.ts';
import { awkwardText } from './plan-edits.ts';

/** Two people each change one field of the same file: two that stand together, and any two. */
export async function checkPairs(
  trial: MergeTrial,
  { path }: ListedFile,
  bytes: Buffer,
  { frontmatter }: ParsedFile,
): Promise<void> {
  const keys = Object.keys(frontmatter ?? {});
  if (frontmatter === null || keys.length < 2) return;
  const random = seeded(`${trial.seed}:pairs:${path}`);
  const first = random(keys.length - 1);
  const one = random(keys.length);
  const other = (one + 1 + random(keys.length - 1)) % keys.length;
  const pairs = { adjacent_keys: [first, first + 1], random_pairs: [one, other] } as const;
  for (const name of ['adjacent_keys', 'random_pairs'] as const) {
    const changes = pairs[name].map((at, side) => changeOf(frontmatter, keys[at] ?? '', side));
    await mergePair(trial, name, { path, bytes, frontmatter }, changes);
  }
}

async function mergePair(
  trial: MergeTrial,
  name: 'adjacent_keys' | 'random_pairs',
  { path, bytes, frontmatter }: { path: string; bytes: Buffer; frontmatter: Frontmatter },
  changes: readonly Change[],
): Promise<void> {
  const sides = changes.map((change) =>
    attempt(() => trial.engine.edit(bytes, path, { frontmatter: applyChange(frontmatter, change) }).bytes),
  );
  const [current, incoming] = sides.flatMap((side) => ('result' in side ? [side.result] : []));
  const tally = trial.report.merges[name];
  if (current === undefined || incoming === undefined) {
    tally.not_tried++;
    return;
  }
  const judge = (merged: string) => judgePair(bytes.toString('utf8'), merged, path, changes);
  await mergeAndCount(trial, name, { path, base: bytes, current, incoming, edit: changes }, judge);
}

/** Another value of the same kind. */
function changeOf(frontmatter: Frontmatter, key: string, side: number): Change {
  const value = frontmatter[key];
  const path = [key];
  const text = `${awkwardText} ${side}`;
  if (Array.isArray(value))
    return { op: 'insert', path, at: value.length, value: isRecord(value[0]) ? { ...value[0], side: text } : text };
  if (isRecord(value)) return { op: 'set', path: [key, `side_${side}`], value: text };
  if (typeof value === 'boolean') return { op: 'set', path, value: !value };
  if (typeof value === 'number') return { op: 'set', path, value: value + 1 + side };
  return { op: 'set', path, value: text };
}

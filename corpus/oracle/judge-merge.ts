import { isDeepStrictEqual } from 'node:util';
import type { Frontmatter } from '../../src/domain/studio/frontmatter/values.ts';
import { isRecord } from '../../src/lib/objects.ts';
import { applyChange, type Change } from '../checks/change.ts';
import type { GitLineMerge, Versions } from '../checks/git-line-merge.ts';
import { findBlock } from './block.ts';
import { readsAs } from './judge-edit.ts';
import { readBlock } from './read-block.ts';
import { regionsOf } from './regions.ts';

/** What is wrong with the merge of two changes of different fields: both must be there, and all else byte for byte. */
export function judgePair(base: string, merged: string, path: string, changes: readonly Change[]): string | null {
  const from = findBlock(base, path);
  const to = findBlock(merged, path);
  if (from === null || to === null) return 'the frontmatter is gone';
  const source = base.slice(from.start, from.end);
  const wanted = changes.reduce(applyChange, readBlock(source, from.format));
  const fault = readsAs(merged.slice(to.start, to.end), to.format, wanted);
  if (fault !== null) return fault;
  if (base.slice(from.bodyStart) !== merged.slice(to.bodyStart)) return 'the body changed';
  const regions = changes.map(({ path }) => regionsOf(source, from.format, path.slice(0, 1)));
  if (regions.some((region) => region === null)) return null;
  const ranges = regions.flatMap((region) => (region ? [{ start: region.value.start, end: region.lines.end }] : []));
  let at = 0;
  let rest = 0;
  for (const { start, end } of ranges.sort((a, b) => a.start - b.start)) {
    const kept = base.slice(rest, from.start + start);
    const found = merged.indexOf(kept, at);
    if (found === -1 || (rest === 0 && found !== 0)) return 'bytes outside of the changed keys changed';
    at = found + kept.length;
    rest = from.start + end;
  }
  return merged.slice(at).endsWith(base.slice(rest)) ? null : 'bytes outside of the changed keys changed';
}

interface Version {
  frontmatter: Frontmatter;
  body: string;
}

function versionOf(text: string, path: string): Version | null {
  const block = findBlock(text, path);
  if (block === null) return { frontmatter: {}, body: text };
  try {
    const frontmatter = readBlock(text.slice(block.start, block.end), block.format);
    // The empty line behind a block is neither the block's nor the body's.
    return { frontmatter, body: text.slice(block.bodyStart).replace(/^\r?\n/, '') };
  } catch {
    return null;
  }
}

/** What is wrong with a merge without conflicts, by the rules of a three-way merge, key by key, and git's own for the body. */
export async function judgeMerge(
  versions: Versions,
  merged: string,
  path: string,
  lines: GitLineMerge,
): Promise<string | null> {
  const [base, current, incoming, result] = [versions.base, versions.current, versions.incoming, merged].map((text) =>
    versionOf(text, path),
  );
  if (!base || !current || !incoming || !result) return 'a version cannot be read';
  for (const key of new Set([base, current, incoming, result].flatMap(({ frontmatter }) => Object.keys(frontmatter)))) {
    const of = ({ frontmatter }: Version) => (Object.hasOwn(frontmatter, key) ? frontmatter[key] : undefined);
    const fault = judgeValue(key, of(base), of(current), of(incoming), of(result));
    if (fault !== null) return fault;
  }
  const body = threeWay(base.body, current.body, incoming.body);
  if (body !== undefined) return body === result.body ? null : 'the body is not that of the side that changed it';
  const byGit = await lines.merge({ base: base.body, current: current.body, incoming: incoming.body });
  if (byGit === null) return 'git sees a conflict in the body';
  return byGit === result.body ? null : 'git merges the body to another text';
}

function judgeValue(key: string, base: unknown, current: unknown, incoming: unknown, result: unknown): string | null {
  const wanted = threeWay([base], [current], [incoming]);
  if (wanted !== undefined) return isDeepStrictEqual(wanted, [result]) ? null : `the key ${key} is of neither side`;
  const isDeep = [current, incoming].every((value) => Array.isArray(value) || isRecord(value));
  if (isDeep || ['updated', 'lastmod', 'modified'].includes(key)) return null;
  return `the key ${key} was changed on both sides and is no conflict`;
}

/** The value of a three-way merge; undefined when both sides changed it, differently. */
function threeWay<Value>(base: Value, current: Value, incoming: Value): Value | undefined {
  if (isDeepStrictEqual(current, incoming) || isDeepStrictEqual(base, incoming)) return current;
  return isDeepStrictEqual(base, current) ? incoming : undefined;
}

import { isAlias, isMap, isPair, isScalar, type Node, type Pair } from 'yaml';
import type { Path } from '../checks/change.ts';
import { yamlDocument } from './read-block.ts';
import { lineEnd, lineStart, type Region, type Regions, withLineBefore } from './region.ts';

/** JSON is YAML enough for its places to be found by the same library. */
export function yamlRegions(source: string, path: Path): Regions | null {
  const document = yamlDocument(source);
  let here: unknown = document.contents;
  let found: Pair<Node, Node | null> | undefined;
  let next: Node | undefined;
  let previous: number | undefined;
  let inFlow = false;
  for (const name of path) {
    if (isMap(here)) {
      const items = here.items as Pair<Node, Node | null>[];
      const at = items.findIndex(({ key }) => isScalar(key) && String(key.value) === name);
      if (at === -1) return null;
      found = items[at];
      next = items[at + 1]?.key;
      previous = endOf(items[at - 1]);
      inFlow = here.flow === true;
      here = found?.value;
    } else {
      const item = (here as { items?: unknown[] } | null)?.items?.[Number(name)];
      here = isPair(item) || isAlias(item) ? undefined : item;
    }
  }
  if (found === undefined) return null;
  const key = found.key.range ?? [0, 0, 0];
  const end = Math.max(found.value?.range?.[1] ?? 0, key[1]);
  if (inFlow) {
    // Between brackets a pair goes with the comma that parts it from a neighbour.
    const lines = { start: previous ?? key[0], end: next?.range?.[0] ?? end };
    return { value: { start: key[1], end }, lines };
  }
  const kept = /[|>][1-9]?\+/.test(source.slice(key[0], end)) ? end - 1 : 0;
  const last = Math.max(source.slice(0, end).trimEnd().length, kept);
  const mark = /\?[ \t]+$/.exec(source.slice(0, key[0]))?.[0].length ?? 0;
  const lines = ownLines(source, { start: key[0] - mark, end: Math.max(last, key[1]) });
  // Blank lines are part of a block scalar that keeps them, and of no other value.
  const keeps = /[|>][1-9]?\+/.test(source.slice(0, key[0]));
  const blank = keeps ? (/^\s*\n/.exec(source.slice(lines.end))?.[0].length ?? 0) : 0;
  return { value: { start: key[1], end }, lines: { ...lines, end: Math.max(lines.end + blank, end) } };
}

function endOf(pair: Pair<Node, Node | null> | undefined): number | undefined {
  if (pair === undefined) return undefined;
  return Math.max(pair.value?.range?.[1] ?? 0, pair.key.range?.[1] ?? 0);
}

/** Whole lines, with the comments directly above at the same column and those below that stand further in. */
function ownLines(source: string, { start, end }: Region): Region {
  const column = start - lineStart(source, start);
  const commentColumn = (from: number) => /^([ \t]*)#/.exec(source.slice(from, lineEnd(source, from)))?.[1]?.length;
  let top = lineStart(source, start);
  while (top > 0 && commentColumn(lineStart(source, top - 1)) === column) top = lineStart(source, top - 1);
  let bottom = lineEnd(source, end);
  while (bottom < source.length && (commentColumn(bottom) ?? 0) > column) bottom = lineEnd(source, bottom);
  return withLineBefore(source, { start: top, end: bottom });
}

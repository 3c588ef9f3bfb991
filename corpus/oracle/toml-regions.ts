import { isDeepStrictEqual } from 'node:util';
import type { Path } from '../checks/change.ts';
import { readBlock } from './read-block.ts';
import { lineStart, type Regions, withLineBefore } from './region.ts';

/** With more lines than this the search below takes too long. */
const mostLines = 600;

/**
 * The lines of a top-level key: they begin behind the longest readable head of the document that does not know the key, and end
 * with the shortest that knows its whole value.
 */
export function tomlRegions(source: string, [key]: Path): Regions | null {
  const lines = source.split('\n');
  if (lines.length > mostLines || typeof key !== 'string') return null;
  const wanted = readBlock(source, 'toml')[key];
  let start = 0;
  for (let offset = 0, at = 0; at <= lines.length; offset += (lines[at]?.length ?? 0) + 1, at++) {
    const head = readHead(source.slice(0, offset));
    if (head === null) continue;
    if (!Object.hasOwn(head, key)) start = offset;
    else if (isDeepStrictEqual(head[key], wanted)) {
      const lines = withLineBefore(source, {
        start: aboveComments(source, start),
        end: Math.min(offset, source.length),
      });
      const isTable = /^[ \t]*\[/.test(source.slice(start));
      return { value: isTable ? lines : { ...lines, start }, lines };
    }
  }
  return null;
}

/** Up over the comments and blank lines above an offset. */
function aboveComments(source: string, from: number): number {
  let at = from;
  while (at > 0 && /^[ \t]*(?:#.*)?\r?\n$/.test(source.slice(lineStart(source, at - 1), at))) {
    at = lineStart(source, at - 1);
  }
  return at;
}

function readHead(source: string): Record<string, unknown> | null {
  try {
    return readBlock(source, 'toml');
  } catch {
    return null;
  }
}

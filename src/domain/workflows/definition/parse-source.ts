import { type Document, isMap, isNode, isScalar, LineCounter, type Node } from 'yaml';
import type { Place, Problem } from './problem.ts';
import { readYaml } from './read-yaml.ts';
import { treeFaults } from './tree-faults.ts';

/** A definition's text as a value, and a way back from places of the value to lines of the text. */
export interface ParsedSource {
  value: unknown;
  problems: Problem[];
  /** Line and column, both from 1, of a place; of the nearest thing around it that the text has, when it has none itself. */
  locate(place: Place, offset?: number): Spot;
}

export const maxSourceBytes = 256 * 1024;

/** What no YAML document may contain as it is (YAML 1.2.2, 5.1). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/;

/** Where a place begins in the text, or the nearest thing around it. */
function startOf(document: Document, place: Place): { at: number; node: Node | null } {
  for (let length = place.length; length >= 0; length -= 1) {
    const node = length === 0 ? document.contents : document.getIn(place.slice(0, length), true);
    if (!isNode(node) || !node.range) continue;
    if (length === place.length) return { at: node.range[0], node };
    // A key that should not be there, or whose value has no place of its own.
    const pair = isMap(node) && node.items.find(({ key }) => isScalar(key) && key.value === place[length]);
    const key = pair && isScalar(pair.key) ? pair.key.range?.[0] : undefined;
    return { at: key ?? node.range[0], node: null };
  }
  return { at: 0, node: null };
}

interface Spot {
  line: number;
  column: number;
}

/**
 * Within a block scalar, whose text has lost its indentation: lines are counted from the one after its mark.
 * @param starts where the lines of the source begin
 */
function withinBlock(source: string, starts: readonly number[], mark: Spot, text: string, offset: number): Spot {
  const before = text.slice(0, offset);
  const line = mark.line + before.split('\n').length;
  const start = starts[line - 1] ?? source.length;
  let indentation = 0;
  while (source[start + indentation] === ' ') indentation += 1;
  return { line, column: indentation + offset - (before.lastIndexOf('\n') + 1) + 1 };
}

/**
 * Reads YAML 1.2 or JSON, which is a part of it. Custom tags, repeated keys and the other faults of its tree are problems; `value` is undefined
 * when there is any.
 */
export async function parseSource(source: string): Promise<ParsedSource> {
  const lines = new LineCounter();
  const tooLong = Buffer.byteLength(source) > maxSourceBytes;
  const document = await readYaml(tooLong ? '' : source, lines);
  const lineAt = (at: number): Spot => {
    const { line, col } = lines.linePos(at);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const fixed: { problem: Problem; at: number }[] = [...document.errors, ...document.warnings].map((fault) => ({
    problem: { place: [], code: 'syntax', message: fault.message },
    at: fault.pos[0],
  }));
  const add = (message: string, at = 0) => fixed.push({ problem: { place: [], code: 'syntax', message }, at });
  if (tooLong) add(`is longer than ${maxSourceBytes} bytes`);
  const controlAt = source.search(control);
  if (!tooLong && controlAt >= 0) add('holds a control character', controlAt);
  if (fixed.length === 0) for (const { message, at } of treeFaults(document)) add(message, at);
  const positions = new Map(fixed.map(({ problem, at }) => [problem.place, at]));
  return {
    value: fixed.length === 0 ? document.toJS({ maxAliasCount: -1 }) : undefined,
    problems: fixed.map(({ problem }) => problem),
    locate(place, offset = 0) {
      const fixedAt = positions.get(place);
      if (fixedAt !== undefined) return lineAt(fixedAt);
      const { at, node } = startOf(document, place);
      if (!isScalar(node) || offset === 0) return lineAt(at);
      if (node.type === 'BLOCK_LITERAL')
        return withinBlock(source, lines.lineStarts, lineAt(at), String(node.value), offset);
      return lineAt(at + offset + (node.type === 'PLAIN' ? 0 : 1));
    },
  };
}

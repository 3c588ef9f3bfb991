import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { type Place, scalar, unknown, type Value } from '../static/values.ts';

/** Nodes of one file, repeated ones counted each time: aliases could make a small file endless. */
const MAX_NODES = 30_000;
const MAX_DEPTH = 64;

type Part = readonly [string | null, Value];

class YamlValues {
  private left = MAX_NODES;
  private readonly anchors = new Map<string, { value: Value; cost: number }>();
  private readonly lines: LineCounter;
  private readonly path: string;

  constructor(path: string, lines: LineCounter) {
    this.path = path;
    this.lines = lines;
  }

  value(node: unknown, depth: number): Value {
    const place = { path: this.path, line: this.lines.linePos((node as Node | null)?.range?.[0] ?? 0).line || 1 };
    if (--this.left < 0 || depth > MAX_DEPTH) return unknown('the file is too large or nested too deeply', place);
    if (isAlias(node)) {
      const anchor = this.anchors.get(node.source);
      if (anchor === undefined) return unknown(`the alias *${node.source} has no anchor before it`, place);
      this.left -= anchor.cost;
      return this.left < 0 ? unknown('the file has too many aliases', place) : anchor.value;
    }
    const before = this.left;
    const value = this.plain(node, depth, place);
    const name = (node as { anchor?: string } | null)?.anchor;
    if (name !== undefined) this.anchors.set(name, { value, cost: before - this.left });
    return value;
  }

  private plain(node: unknown, depth: number, place: Place): Value {
    if (isSeq(node)) return { kind: 'list', items: node.items.map((item) => this.value(item, depth + 1)), place };
    if (isMap(node)) {
      // What is merged in stands first, so that the map's own keys win.
      const merged: Part[] = [];
      const own: Part[] = [];
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? String(key.value ?? key.source ?? '') : null;
        const folded = this.value(value, depth + 1);
        if (name === '<<') merged.push(...sourcesOf(folded));
        else own.push([name, name === null ? unknown('a key is no text', place) : folded]);
      }
      return { kind: 'record', parts: [...merged, ...own], place };
    }
    if (!isScalar(node)) return scalar(null);
    const { value } = node;
    const simple =
      value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    return scalar(simple ? value : (node.source ?? null));
  }
}

/** Of several merged maps the earlier wins, so it stands last. */
function sourcesOf(value: Value): Part[] {
  if (value.kind === 'record') return [...value.parts];
  return value.kind === 'list' ? value.items.toReversed().flatMap(sourcesOf) : [[null, value]];
}

/**
 * A YAML text as a value with lines; merge keys are resolved.
 * @throws SyntaxError with `loc`, or RangeError when the nesting exhausts the stack
 */
export function yamlValue(path: string, text: string): Value {
  const lines = new LineCounter();
  const document = parseDocument(text, { schema: 'core', uniqueKeys: false, prettyErrors: false, lineCounter: lines });
  const [fault] = document.errors;
  if (fault) {
    const loc = { line: lines.linePos(fault.pos[0]).line || 1 };
    throw Object.assign(new SyntaxError(fault.message), { loc });
  }
  return new YamlValues(path, lines).value(document.contents, 0);
}

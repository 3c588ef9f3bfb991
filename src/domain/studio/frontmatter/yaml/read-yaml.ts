import {
  type CST,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  Lexer,
  type Node,
  Parser,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { pointerTo } from '../../../../lib/json-pointer.ts';
import { isRecord } from '../../../../lib/objects.ts';
import { Anchors, composeDocument } from '../../../../lib/yaml.ts';
import { ContentFault, type Frontmatter, LossyPointers, limits, type Reading, setOwn } from '../values.ts';

export type YamlDocument = Document.Parsed;

/** What the parser may have open beside containers: the document and a scalar, with room for their kinds. */
const spareLevels = 8;

/** @throws RangeError where it nests too deep, before the parser goes further: the library would go down by calls */
function* tokensOf(source: string): Generator<CST.Token> {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(source)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > limits.depth + spareLevels) throw new RangeError('nested too deep');
  }
  yield* parser.end();
}

/**
 * Parses without resolving anything twice: duplicate keys are found by `YamlReader`. `keepSourceTokens` is needed for editing only.
 * @throws RangeError for what is nested far too deep
 */
export function parseYaml(source: string, keepSourceTokens = false): YamlDocument {
  return composeDocument(tokensOf(source), source.length, { schema: 'core', keepSourceTokens });
}

/** Reads a YAML map with the core schema of YAML 1.2 (dates stay strings); merge keys (`<<`) are resolved. */
export function readYaml(source: string): Reading {
  try {
    return readYamlDocument(parseYaml(source));
  } catch (error) {
    if (error instanceof RangeError)
      return { ok: false, message: `nested deeper than ${limits.depth} levels`, offset: 0 };
    throw error;
  }
}

export function readYamlDocument(document: YamlDocument): Reading {
  const fault = document.errors[0];
  if (fault !== undefined) return { ok: false, message: yamlMessage(fault.code, fault.message), offset: fault.pos[0] };
  const root = document.contents;
  if (root === null || (isScalar(root) && root.value === null)) return { ok: true, value: {}, lossy: [] };
  if (!isMap(root))
    return { ok: false, message: 'the frontmatter is not a map of keys', offset: offsetOf(root), hasNoFields: true };
  try {
    const reader = new YamlReader(document.range[2]);
    return { ok: true, value: reader.map(root, '', 1), lossy: reader.lossy.found };
  } catch (error) {
    if (error instanceof ContentFault) return { ok: false, message: error.message, offset: error.offset };
    throw error;
  }
}

function yamlMessage(code: string, message: string): string {
  if (code === 'TAB_AS_INDENT') return 'a tab is used as indentation';
  if (code === 'MULTIPLE_DOCS') return 'the file holds more than one document';
  return message;
}

/** How far the reading had come where a node begins. */
interface Mark {
  weight: number;
  expansions: number;
  lossy: number;
}

/** Converts nodes to plain values, in document order, so that an anchor is known before its aliases. */
class YamlReader {
  readonly lossy = new LossyPointers();
  private expansions = 0;
  private readonly anchors: Anchors<{ value: unknown; cost: number; lossy: string[] }>;

  /** @param length of the source */
  constructor(length: number) {
    this.anchors = new Anchors(Math.max(limits.fewRepeated, limits.repeatedTimes * length));
  }

  map(node: YAMLMap, pointer: string, depth: number): Frontmatter {
    const before = this.enter(node, depth);
    const own = new Set<string>();
    const result: Frontmatter = {};
    for (const pair of node.items) {
      const key = keyText(pair.key);
      if (own.has(key)) throw new ContentFault(`the key ${key} is given twice`, offsetOf(pair.key));
      own.add(key);
      this.anchors.count(key);
      if (isMergeKey(pair.key)) {
        const sources = this.mergeSources(pair.value, pointerTo(pointer, key), depth);
        for (const [name, value] of Object.entries(sources))
          if (!Object.hasOwn(result, name)) setOwn(result, name, value);
      } else {
        setOwn(result, key, this.value(pair.value, pointerTo(pointer, key), depth));
      }
    }
    this.remember(node, result, before, pointer);
    return result;
  }

  private value(node: unknown, pointer: string, depth: number): unknown {
    if (isScalar(node)) return this.scalar(node, pointer);
    if (isAlias(node)) return this.alias(node.source, pointer, offsetOf(node));
    if (isMap(node)) return this.map(node, pointer, depth + 1);
    if (node === null || node === undefined) return null;
    const list = node as { items: unknown[] } & Node; // the only other kind of node is a sequence
    const before = this.enter(list, depth + 1);
    const result = list.items.map((item, at) => this.item(item, pointerTo(pointer, at), depth + 1));
    this.remember(list, result, before, pointer);
    return result;
  }

  /** A pair stands directly in a list of `!!omap` or `!!pairs`. */
  private item(item: unknown, pointer: string, depth: number): unknown {
    if (!isPair(item)) return this.value(item, pointer, depth);
    const key = keyText(item.key);
    this.anchors.count(key);
    const result: Frontmatter = {};
    setOwn(result, key, this.value(item.value, pointerTo(pointer, key), depth));
    return result;
  }

  private scalar(node: Scalar, pointer: string): unknown {
    const before = this.mark();
    const value = this.plainValue(node, pointer);
    this.anchors.count(value);
    this.remember(node, value, before, pointer);
    return value;
  }

  private plainValue(node: Scalar, pointer: string): unknown {
    const { value } = node;
    if (typeof value === 'number' && isLossyNumber(value, node.source ?? '')) {
      this.lossy.add(pointer, offsetOf(node));
      return node.source ?? String(value);
    }
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      return value;
    return node.source ?? null; // `!!timestamp`, `!!binary`: the library makes objects of them, JSON has none
  }

  private alias(name: string, pointer: string, offset: number): unknown {
    const anchor = this.anchors.repeat(name);
    if (anchor === undefined) throw new ContentFault(`the alias *${name} has no anchor before it`, offset);
    this.expansions += 1 + anchor.cost;
    if (this.expansions > limits.aliasExpansions) {
      throw new ContentFault(`more than ${limits.aliasExpansions} alias expansions`, offset);
    }
    if (this.anchors.isExceeded)
      throw new ContentFault('the aliases repeat too much text; write less of it at their anchors', offset);
    for (const inner of anchor.lossy) this.lossy.add(pointer + inner, offset);
    return anchor.value;
  }

  /** The earlier of several merged maps wins, and what the map says itself wins over all. */
  private mergeSources(node: unknown, pointer: string, depth: number): Frontmatter {
    const value = this.value(node, pointer, depth);
    const result: Frontmatter = {};
    for (const source of Array.isArray(value) ? value : [value]) {
      if (!isRecord(source)) {
        throw new ContentFault('a merge key (<<) needs a map', offsetOf(node));
      }
      for (const [key, member] of Object.entries(source)) if (!Object.hasOwn(result, key)) setOwn(result, key, member);
    }
    return result;
  }

  private mark(): Mark {
    return { weight: this.anchors.weight, expansions: this.expansions, lossy: this.lossy.found.length };
  }

  private enter(node: Node, depth: number): Mark {
    if (depth > limits.depth) throw new ContentFault(`nested deeper than ${limits.depth} levels`, offsetOf(node));
    const before = this.mark();
    this.anchors.count();
    return before;
  }

  private remember(node: { anchor?: string | undefined }, value: unknown, before: Mark, pointer: string): void {
    if (node.anchor === undefined) return;
    const lossy = this.lossy.found.slice(before.lossy).map((found) => found.slice(pointer.length));
    this.anchors.set(node.anchor, { value, cost: this.expansions - before.expansions, lossy }, before.weight);
  }
}

export function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.value === '<<' && key.type === 'PLAIN';
}

/** The name of a pair. Lists and maps as names have no JSON form; `{{ x }}` is read by YAML as a map whose name is a map. */
function keyText(key: unknown): string {
  if (isScalar(key)) return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value ?? ''));
  if (key === null || key === undefined) return '';
  if (isMap(key) && key.flow) {
    throw new ContentFault('a template placeholder ({{ … }}) must stand in quotes', offsetOf(key));
  }
  throw new ContentFault('a key must be a plain value', offsetOf(key));
}

function isLossyNumber(value: number, source: string): boolean {
  return !Number.isFinite(value) || (!Number.isSafeInteger(value) && !/[.eE]/.test(source.replace(/^[-+]?0x.*/i, '')));
}

function offsetOf(node: unknown): number {
  return (node as Node | null)?.range?.[0] ?? 0;
}

import {
  CST,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  YAMLParseError,
} from 'yaml';
import { forEachYielding, yieldLoop } from '../../../lib/concurrency.ts';
import { isLonger } from '../../../lib/objects.ts';
import { Anchors, composeDocument } from '../../../lib/yaml.ts';

/** Where something is in a definition, from its top: keys and indices. */
export type Place = readonly (string | number)[];

/** A fault of a definition before its line is known. `offset` counts UTF-16 units within the text at that place. */
export interface Problem {
  place: Place;
  /** `syntax`, `unknown_key`, `duplicate_id`, `unknown_step`, `unknown_operation`, … */
  code: string;
  message: string;
  offset?: number;
}

/** A fault and where in the text it begins. */
interface TextFault {
  message: string;
  at: number;
}

/** What aliases may add to a document, in nodes. */
const maxAliasNodes = 1_000;
/** The same in characters. */
const maxRepeated = 1024 * 1024;
/** Values within values. */
const maxLevels = 200;
const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype']);

/** The name an object gets of a key; null: it is none. */
const nameOf = (key: unknown): string | null => {
  if (key === null) return '';
  if (!isScalar(key)) return null;
  return key.value === null ? '' : String(key.value);
};

/** Thrown to end the walk. */
class Beyond extends Error {}

/**
 * Faults that the grammar of YAML allows: keys that are given twice, that are special in JavaScript objects, or that are no text; aliases
 * of nothing or that grow beyond 1,000 nodes or 1 MiB; more than 200 levels. The parser looks for the same in time that grows with the square of
 * the text, so its own check is off.
 */
function treeFaults(document: Document): TextFault[] {
  const faults: TextFault[] = [];
  /** The latest node of each anchor, with its size once it is whole. */
  const anchors = new Map<string, { node: Node; size: number | null }>();
  const texts = new Anchors<Node>(maxRepeated);
  let aliasNodes = 0;

  const fault = (message: string, node: unknown) => {
    const at = (isCollection(node) || isScalar(node) || isAlias(node)) && node.range ? node.range[0] : 0;
    faults.push({ message, at });
  };

  const keyOf = ({ key }: Pair, names: Set<string>) => {
    const name = nameOf(isAlias(key) ? anchors.get(key.source)?.node : key);
    if (name === null) return fault('has a key that is no text', key);
    if (forbiddenKeys.has(name)) fault(`"${name}" is not a name that can be used`, key);
    if (names.has(name)) fault(`has "${name}" twice`, key);
    names.add(name);
  };

  /** @returns the nodes there are of it when its aliases are expanded */
  const sizeOf = (node: unknown, level: number): number => {
    if (level > maxLevels) {
      fault(`is nested more than ${maxLevels} levels deep`, node);
      throw new Beyond();
    }
    if (isAlias(node)) {
      const size = anchors.get(node.source)?.size ?? null;
      if (size === null) fault(`"*${node.source}" stands for nothing that ends before it`, node);
      aliasNodes += size ?? 0;
      texts.repeat(node.source);
      if (aliasNodes <= maxAliasNodes && !texts.isExceeded) return size ?? 0;
      const most = texts.isExceeded ? `${maxRepeated / 1024} KiB of text` : `${maxAliasNodes} values`;
      fault(`its aliases stand for more than ${most}`, node);
      throw new Beyond();
    }
    if (isPair(node)) return sizeOf(node.key, level) + sizeOf(node.value, level);
    if (!isScalar(node) && !isCollection(node)) return 0;
    const anchored = { node, size: null as number | null };
    if (node.anchor !== undefined) anchors.set(node.anchor, anchored);
    const before = texts.weight;
    texts.count(isScalar(node) ? node.value : null);
    let size = 1;
    const names = new Set<string>();
    for (const item of isCollection(node) ? node.items : []) {
      if (isMap(node)) keyOf(item as Pair, names);
      size += sizeOf(item, level + 1);
    }
    anchored.size = size;
    if (node.anchor !== undefined) texts.set(node.anchor, node, before);
    return size;
  };

  try {
    sizeOf(document.contents, 1);
  } catch (error) {
    if (!(error instanceof Beyond)) throw error;
  }
  return faults;
}

/**
 * What a text may hold, since nodes are made of it in one go: 500 steps have some 10,000 keys and items. Tokens are those of the lexer
 * without spaces; properties are anchors and tags, each of which may become a fault.
 */
const sourceLimits = { values: 32_000, tokens: 130_000, properties: 2_000 } as const;

/** Where the text has more keys and items than may be; null: nowhere. Without going down by calls, of which there may be too many. */
function tooManyFrom(tokens: readonly CST.Token[]): number | null {
  let count = 0;
  const left = [...tokens];
  for (let token = left.pop(); token !== undefined; token = left.pop()) {
    if (token.type === 'document' && token.value) left.push(token.value);
    if (!CST.isCollection(token)) continue;
    count += token.items.length;
    if (count > sourceLimits.values) return token.offset;
    for (const { key, value } of token.items) {
      if (key) left.push(key);
      if (value) left.push(value);
    }
  }
  return null;
}

/** A fault that ends the reading at once. */
interface Excess {
  at: number;
  message: string;
}

/** Counts what the lexer finds, with what the parser has open meanwhile. */
class SourceMeter {
  #at = 0;
  #tokens = 0;
  #properties = 0;

  /** @param open containers that have begun and not ended @returns what goes too far; null: nothing so far */
  take(lexeme: string, open: number): Excess | null {
    const type = CST.tokenType(lexeme);
    const at = this.#at;
    // The lexer marks documents and plain texts by a character that is not in the source.
    if (type === 'doc-mode' || type === 'scalar' || type === 'flow-error-end') return null;
    this.#at += lexeme.length;
    if (type === 'space') return null;
    this.#tokens += 1;
    if (type === 'anchor' || type === 'tag') this.#properties += 1;
    if (open > maxLevels) return { at, message: `is nested more than ${maxLevels} levels deep` };
    if (this.#properties > sourceLimits.properties)
      return { at, message: `holds more than ${sourceLimits.properties} anchors and tags` };
    if (this.#tokens > sourceLimits.tokens)
      return { at, message: `holds more than ${sourceLimits.tokens} words and marks of YAML` };
    return null;
  }
}

/** The parser's tokens of a text, up to where it exceeds a limit. Yields to the event loop. */
async function tokensOf(source: string, lines: LineCounter): Promise<{ tokens: CST.Token[]; excess: Excess | null }> {
  const parser = new Parser(lines.addNewLine);
  const meter = new SourceMeter();
  const tokens: CST.Token[] = [];
  let excess: Excess | null = null;
  function* lexemes() {
    for (const lexeme of new Lexer().lex(source)) {
      // The document is open, too.
      excess = meter.take(lexeme, parser.stack.length - 1);
      if (excess) return;
      yield lexeme;
    }
  }
  await forEachYielding(lexemes(), (lexeme) => {
    for (const token of parser.next(lexeme)) tokens.push(token);
  });
  if (excess) return { tokens: [], excess };
  for (const token of parser.end()) tokens.push(token);
  const at = tooManyFrom(tokens);
  if (at === null) return { tokens, excess };
  return { tokens: [], excess: { at, message: `holds more than ${sourceLimits.values} values` } };
}

/**
 * Reads a text as one document of YAML 1.2, yielding to the event loop: a quarter of a megabyte may take half a second. Its faults are in the document,
 * also that there is another one, or that it goes beyond the limits, when nothing of it is read.
 * @param lines learns where lines begin
 */
async function readYaml(source: string, lines: LineCounter): Promise<Document> {
  lines.addNewLine(0);
  const { tokens, excess } = await tokensOf(source, lines);
  await yieldLoop();
  const document = composeDocument(tokens, source.length);
  await yieldLoop();
  if (excess) document.errors.push(new YAMLParseError([excess.at, excess.at], 'RESOURCE_EXHAUSTION', excess.message));
  return document;
}

/** A definition's text as a value, and a way back from places of the value to lines of the text. */
interface ParsedSource {
  /** What the definition is kept as; empty when it is too long. */
  text: string;
  value: unknown;
  problems: Problem[];
  /** Line and column, both from 1, of a place; of the nearest thing around it that the text has, when it has none itself. */
  locate(place: Place, offset?: number): Spot;
}

const maxSourceBytes = 256 * 1024;

/** A definition as it is sent: YAML or JSON, or the object that is the same as its JSON. */
export type DefinitionSource = string | Record<string, unknown>;

/** The text of a definition, which is what is kept; null: it would be longer than may be. */
function textOf(source: DefinitionSource): string | null {
  if (typeof source !== 'string' && isLonger(source, maxSourceBytes, 2)) return null;
  const text = typeof source === 'string' ? source : JSON.stringify(source, null, 2);
  return Buffer.byteLength(text) > maxSourceBytes ? null : text;
}

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
 * Reads a definition, YAML 1.2 or JSON, which is a part of it. Custom tags, repeated keys and the other faults of its tree are problems; `value` is undefined
 * when there is any.
 */
export async function parseSource(source: DefinitionSource): Promise<ParsedSource> {
  const lines = new LineCounter();
  const whole = textOf(source);
  const text = whole ?? '';
  const document = await readYaml(text, lines);
  const lineAt = (at: number): Spot => {
    const { line, col } = lines.linePos(at);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const fixed: { problem: Problem; at: number }[] = [...document.errors, ...document.warnings].map((fault) => ({
    problem: { place: [], code: 'syntax', message: fault.message },
    at: fault.pos[0],
  }));
  const add = (message: string, at = 0) => fixed.push({ problem: { place: [], code: 'syntax', message }, at });
  if (whole === null) add(`is longer than ${maxSourceBytes} bytes`);
  const controlAt = text.search(control);
  if (controlAt >= 0) add('holds a control character', controlAt);
  if (fixed.length === 0) for (const { message, at } of treeFaults(document)) add(message, at);
  await yieldLoop();
  const positions = new Map(fixed.map(({ problem, at }) => [problem.place, at]));
  return {
    text,
    value: fixed.length === 0 ? document.toJS({ maxAliasCount: -1 }) : undefined,
    problems: fixed.map(({ problem }) => problem),
    locate(place, offset = 0) {
      const fixedAt = positions.get(place);
      if (fixedAt !== undefined) return lineAt(fixedAt);
      const { at, node } = startOf(document, place);
      if (!isScalar(node) || offset === 0) return lineAt(at);
      if (node.type === 'BLOCK_LITERAL')
        return withinBlock(text, lines.lineStarts, lineAt(at), String(node.value), offset);
      return lineAt(at + offset + (node.type === 'PLAIN' ? 0 : 1));
    },
  };
}

import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, Parser } from 'yaml';
import { forEachYielding } from '../../../../lib/concurrency.ts';
import { Anchors, composeDocument } from '../../../../lib/yaml.ts';
import { readToml } from '../../frontmatter/toml/toml.ts';
import type { SiteReading } from '../reader.ts';
import { below, extensionOf, joinPath } from '../site-layout.ts';
import { Evaluator, jsonValue } from '../static/evaluate.ts';
import { loadModules } from '../static/module-graph.ts';
import { BudgetSpent, dataSteps, type ReadingBudget } from '../static/reading-budget.ts';
import { MAX_SOURCE } from '../static/syntax.ts';
import { fromPlain, type Place, scalar, unknown, type Value } from '../static/values.ts';

/** Nodes of one file, repeated ones counted each time: aliases could make a small file endless. */
const MAX_NODES = 30_000;
const MAX_DEPTH = 64;
/** Characters that the aliases of one file may repeat together. */
const MAX_REPEATED = 8 * 1024 * 1024;

type Part = readonly [string | null, Value];

class YamlValues {
  private left = MAX_NODES;
  private readonly anchors = new Anchors<{ value: Value; cost: number }>(MAX_REPEATED);
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
      const anchor = this.anchors.repeat(node.source);
      if (anchor === undefined) return unknown(`the alias *${node.source} has no anchor before it`, place);
      this.left -= anchor.cost;
      if (this.left < 0) return unknown('the file has too many aliases', place);
      return this.anchors.isExceeded ? unknown('the aliases of the file repeat too much text', place) : anchor.value;
    }
    const { left, anchors } = this;
    const { weight } = anchors;
    const value = this.plain(node, depth, place);
    const name = (node as { anchor?: string } | null)?.anchor;
    if (name !== undefined) anchors.set(name, { value, cost: left - this.left }, weight);
    return value;
  }

  private plain(node: unknown, depth: number, place: Place): Value {
    this.anchors.count(isScalar(node) ? node.value : null);
    if (isSeq(node)) return { kind: 'list', items: node.items.map((item) => this.value(item, depth + 1)), place };
    if (isMap(node)) {
      // What is merged in stands first, so that the map's own keys win.
      const merged: Part[] = [];
      const own: Part[] = [];
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? String(key.value ?? key.source ?? '') : null;
        this.anchors.count(name);
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
function yamlValue(path: string, text: string): Value {
  const lines = new LineCounter();
  const document = composeDocument(new Parser(lines.addNewLine).parse(text), text.length, { schema: 'core' });
  const [fault] = document.errors;
  if (fault) {
    const loc = { line: lines.linePos(fault.pos[0]).line || 1 };
    throw Object.assign(new SyntaxError(fault.message), { loc });
  }
  return new YamlValues(path, lines).value(document.contents, 0);
}

export type ConfigReading = Pick<SiteReading, 'site' | 'warnings' | 'dependencies'> &
  Partial<Pick<SiteReading, 'settings'>>;

/** `name` with each of the extensions, in the site's directory: the first that exists. */
export function findConfig(
  { present, layout }: Pick<SiteReading, 'present' | 'layout'>,
  names: readonly string[],
  extensions: readonly string[],
): string | undefined {
  const candidates = names.flatMap((name) =>
    extensions.map((extension) => joinPath(layout.root, `${name}.${extension}`)),
  );
  return candidates.find((path) => present.has(path));
}

export const codeExtensions = ['ts', 'tsx', 'mts', 'js', 'mjs', 'jsx', 'cjs'] as const;

const outputs = /(^|\/)(node_modules|dist|build|_site|out)\//;

/** The shallowest file of the site whose path fits; `part` is text that every such path has, for speed. */
export async function findDataConfig(
  { paths, layout }: Pick<SiteReading, 'paths' | 'layout'>,
  pattern: RegExp,
  part: string,
): Promise<string | undefined> {
  let found: { path: string; depth: number } | undefined;
  await forEachYielding(paths, (path) => {
    if (!path.includes(part) || !pattern.test(path) || outputs.test(path) || below(layout.root, path) === null) return;
    const depth = path.split('/').length;
    if (!found || depth < found.depth || (depth === found.depth && path < found.path)) found = { path, depth };
  });
  return found?.path;
}

async function parse(path: string, text: string, budget: ReadingBudget | undefined): Promise<Value | null> {
  const extension = extensionOf(path);
  if (extension === 'json') return jsonValue(path, text, budget);
  if (budget?.parse(dataSteps(text)) === false) throw new BudgetSpent();
  if (extension !== 'toml') return yamlValue(path, text);
  const read = readToml(text);
  if (read.ok) return fromPlain(read.value, { path, line: 1 });
  const line = text.slice(0, read.offset).split('\n').length;
  throw Object.assign(new SyntaxError(read.message), { loc: { line } });
}

/**
 * Reads a configuration that is data: YAML, TOML or JSON, by its extension. The file becomes a dependency whatever it holds.
 * @returns null, with a warning, when it cannot be read
 */
export async function readDataConfig(
  path: string,
  { site, warnings, dependencies, settings }: ConfigReading,
): Promise<Value | null> {
  dependencies.add(path);
  settings?.add(path);
  const text = await site.read(path);
  const warn = (message: string, line?: number) =>
    warnings.push({ code: 'config_unreadable', message, path, ...(line === undefined ? {} : { line }) });
  if (text === null || text.length > MAX_SOURCE) {
    warn(text === null ? 'The file cannot be read' : `The file is larger than ${MAX_SOURCE / 1024} KiB`);
    return null;
  }
  try {
    return await parse(path, text, site.budget);
  } catch (error) {
    if (error instanceof BudgetSpent) warn(error.message);
    else if (error instanceof RangeError) warn('The file is nested too deeply');
    else warn(`The file has a syntax error: ${(error as Error).message.split('\n')[0]}`, (error as Fault).loc?.line);
    return null;
  }
}

interface Fault {
  loc?: { line?: number };
}

interface CodeConfig {
  evaluator: Evaluator;
  path: string;
  /** The default export, of a call such as `defineConfig({…})` its argument; null without one. */
  exported: Value | null;
  /** The same, of a function what it returns. */
  value: Value | null;
}

/** Reads a configuration that is code, with what it imports, without running it. */
export async function readCodeConfig(
  path: string,
  { site, warnings, dependencies, settings }: ConfigReading,
): Promise<CodeConfig> {
  const graph = await loadModules(path, site, warnings, dependencies);
  for (const file of graph.keys()) {
    dependencies.add(file);
    settings?.add(file);
  }
  const evaluator = new Evaluator(graph, site.budget);
  const exported = argumentOf(evaluator.export(path, 'default'));
  return { evaluator, path, exported, value: exported?.kind === 'closure' ? evaluator.resultOf(exported) : exported };
}

/** `config({…})` → `{…}`: the functions around configurations only give types. */
export function argumentOf(value: Value | null): Value | null {
  let current = value;
  while (current?.kind === 'call' && current.args[0] !== undefined) current = current.args[0];
  return current;
}

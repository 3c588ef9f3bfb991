import { readToml } from '../../frontmatter/toml/read-toml.ts';
import type { SiteReading } from '../reader.ts';
import { below, extensionOf, joinPath } from '../site-layout.ts';
import { Evaluator } from '../static/evaluate.ts';
import { loadModules } from '../static/module-graph.ts';
import { MAX_SOURCE } from '../static/syntax.ts';
import { fromPlain, type Value } from '../static/values.ts';
import { jsonValue } from './json-value.ts';
import { yamlValue } from './yaml-value.ts';

type Reading = Pick<SiteReading, 'site' | 'warnings' | 'dependencies'>;

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
export function findDataConfig(
  { paths, layout }: Pick<SiteReading, 'paths' | 'layout'>,
  pattern: RegExp,
  part: string,
): string | undefined {
  const found = paths.filter((path) => path.includes(part) && pattern.test(path) && !outputs.test(path));
  const depth = (path: string) => path.split('/').length;
  return found
    .filter((path) => below(layout.root, path) !== null)
    .sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1))[0];
}

async function parse(path: string, text: string): Promise<Value | null> {
  const extension = extensionOf(path);
  if (extension === 'json') return jsonValue(path, text);
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
export async function readDataConfig(path: string, { site, warnings, dependencies }: Reading): Promise<Value | null> {
  dependencies.add(path);
  const text = await site.read(path);
  const warn = (message: string, line?: number) =>
    warnings.push({ code: 'config_unreadable', message, path, ...(line === undefined ? {} : { line }) });
  if (text === null || text.length > MAX_SOURCE) {
    warn(text === null ? 'The file cannot be read' : `The file is larger than ${MAX_SOURCE / 1024} KiB`);
    return null;
  }
  try {
    return await parse(path, text);
  } catch (error) {
    if (error instanceof RangeError) warn('The file is nested too deeply');
    else warn(`The file has a syntax error: ${(error as Error).message.split('\n')[0]}`, (error as Fault).loc?.line);
    return null;
  }
}

interface Fault {
  loc?: { line?: number };
}

export interface CodeConfig {
  evaluator: Evaluator;
  path: string;
  /** The default export, of a call such as `defineConfig({…})` its argument; null when there is none. */
  value: Value | null;
}

/** Reads a configuration that is code, with what it imports, without running it. */
export async function readCodeConfig(path: string, { site, warnings, dependencies }: Reading): Promise<CodeConfig> {
  const graph = await loadModules(path, site, warnings, dependencies);
  for (const file of graph.keys()) dependencies.add(file);
  const evaluator = new Evaluator(graph);
  return { evaluator, path, value: argumentOf(evaluator.export(path, 'default')) };
}

/** `config({…})` → `{…}`: the functions around configurations only give types. */
export function argumentOf(value: Value | null): Value | null {
  let current = value;
  while (current?.kind === 'call' && current.args[0] !== undefined) current = current.args[0];
  return current;
}

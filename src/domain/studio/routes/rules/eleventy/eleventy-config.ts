import { readCodeConfig } from '../../../schema/config/config-file.ts';
import { at, textAt, textsOf } from '../../../schema/static/read-value.ts';
import { type AnyNode, isNode, MAX_SOURCE, nodesOf, parseModule } from '../../../schema/static/syntax.ts';
import type { Value } from '../../../schema/static/values.ts';
import type { RouteReading } from '../rule.ts';

/** What an Eleventy configuration says, as far as it can be told without running it. */
export interface EleventyConfig {
  input: string;
  output: string;
  /** Directories below `input` that hold parts of pages. */
  includes: string[];
  data: string;
  pathPrefix: string | undefined;
  /** Extensions of templates; null: the usual ones. */
  formats: string[] | null;
  ignored: string[];
  hidesDrafts: boolean;
}

const clean = (path: string) => path.replace(/^(\.?\/)+|\/+$|^\.$/g, '');

/** The object a configuration function returns, what is exported as `config`, and the calls it makes. */
export async function readEleventyConfig(reading: RouteReading): Promise<EleventyConfig> {
  const path = reading.detected.config;
  const text = path === null ? null : await reading.site.read(path);
  const found = path === null || text === null || text.length > MAX_SOURCE ? [] : await nodesIn(path, text, reading);
  const objects = path === null ? [] : await configObjects(path, found, reading);
  const first = (...keys: string[]) => objects.map((one) => textAt(one, ...keys)).find((one) => one !== undefined);
  const calls = callsIn(found);
  const last = (name: string) => calls.get(name)?.at(-1)?.[0];
  const formats = objects.map((one) => at(one, 'templateFormats')).find((one) => one !== undefined);
  const setFormats = calls.get('setTemplateFormats')?.at(-1);
  return {
    input: clean(last('setInputDirectory') ?? first('dir', 'input') ?? '.'),
    output: clean(last('setOutputDirectory') ?? first('dir', 'output') ?? '_site'),
    includes: [
      last('setIncludesDirectory') ?? first('dir', 'includes') ?? '_includes',
      last('setLayoutsDirectory') ?? first('dir', 'layouts') ?? '_layouts',
    ].map(clean),
    data: clean(last('setDataDirectory') ?? first('dir', 'data') ?? '_data'),
    pathPrefix: first('pathPrefix'),
    formats: setFormats ?? (formats ? textsOf(formats) : null),
    ignored: (calls.get('add') ?? []).flat(),
    hidesDrafts: (calls.get('addPreprocessor') ?? []).some(([name]) => name === 'drafts'),
  };
}

async function nodesIn(path: string, text: string, { warnings }: RouteReading): Promise<AnyNode[]> {
  try {
    return [...nodesOf(await parseModule(path, text))];
  } catch {
    warnings.push({
      code: 'config_unreadable',
      message: 'The code cannot be read; the usual directories are taken',
      path,
    });
    return [];
  }
}

/** Objects that are given as the configuration; expressions are only folded where they stand at the top of the module. */
async function configObjects(path: string, nodes: readonly AnyNode[], reading: RouteReading): Promise<Value[]> {
  const { evaluator, value } = await readCodeConfig(path, { ...reading, warnings: [] });
  const named = evaluator.export(path, 'config');
  const scope = evaluator.scope(path);
  const returned = nodes.flatMap((node) => {
    const argument = node.type === 'ReturnStatement' && isNode(node.argument) ? node.argument : null;
    return argument?.type === 'ObjectExpression' ? [evaluator.evaluate(argument as never, scope, path)] : [];
  });
  return [named, value, ...returned.filter((one) => at(one, 'dir') || at(one, 'pathPrefix'))].filter(
    (one): one is Value => one?.kind === 'record',
  );
}

/** Texts in the arguments of each call of a method, in order of writing. */
function callsIn(nodes: readonly AnyNode[]): Map<string, string[][]> {
  const calls = new Map<string, string[][]>();
  for (const node of nodes) {
    if (node.type !== 'CallExpression' || !isNode(node.callee) || !isNode(node.callee.property)) continue;
    const { object, property } = node.callee;
    const name = String(property.name);
    // `add` is a method of many things: only that of the ignored files counts.
    if (name === 'add' && !(isNode(object) && isNode(object.property) && object.property.name === 'ignores')) continue;
    const texts = (Array.isArray(node.arguments) ? node.arguments : []).flatMap(textsIn);
    calls.set(name, [...(calls.get(name) ?? []), texts]);
  }
  return calls;
}

function textsIn(node: unknown): string[] {
  if (!isNode(node)) return [];
  if (node.type === 'StringLiteral') return [String(node.value)];
  return node.type === 'ArrayExpression' && Array.isArray(node.elements) ? node.elements.flatMap(textsIn) : [];
}

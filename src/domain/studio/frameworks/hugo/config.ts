import { filterYielding } from '../../../../lib/concurrency.ts';
import { readDataConfig } from '../../schema/config/config-file.ts';
import type { SiteReading } from '../../schema/reader.ts';
import { below, joinPath } from '../../schema/site-layout.ts';
import { entriesOf, type Place, type Value } from '../../schema/static/values.ts';

const mostFiles = 200;
const formats = ['toml', 'yaml', 'yml', 'json'];

/** Hugo's keys are written in any case. */
export const pick = (value: Value | null | undefined, name: string): Value | undefined =>
  entriesOf(value ?? undefined).findLast(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];

/** Files of the directory of configurations, by directories in the order they are laid over one another: those of a build last. */
const environments = ['_default', 'production'];

/** Two configurations as one: tables are joined key by key, of anything else the later one stays. */
function merge(base: Value | undefined, over: Value): Value {
  if (base?.kind !== 'record' || over.kind !== 'record') return over;
  const names = new Set(entriesOf(over).map(([key]) => key.toLowerCase()));
  const kept = entriesOf(base).filter(([key]) => !names.has(key.toLowerCase()));
  const joined = entriesOf(over).map(([key, value]) => [key, merge(pick(base, key), value)] as const);
  return { kind: 'record', parts: [...kept, ...joined], place: over.place };
}

/** `params.toml` is the table `params`, `params.fr.toml` that of a language, `languages.fr.toml` a language itself. */
function keysOf(name: string): string[] {
  if (name === 'hugo' || name === 'config') return [];
  const [key = '', language] = name.split('.');
  if (language === undefined) return [key];
  return ['languages', language, ...(/^(menus?|params)$/.test(key) ? [key] : [])];
}

/** Parameters and menus say nothing about where content is, so that a site can have them edited as content. */
const isOfValues = (keys: readonly string[]) => /^(menus?|params)$/.test(keys.at(-1) ?? '');

const nested = (keys: readonly string[], value: Value, place: Place): Value =>
  keys.reduceRight<Value>((inner, key) => ({ kind: 'record', parts: [[key, inner]], place }), value);

/**
 * Hugo's configuration for a build: the file at the top, with those of `config/_default` and `config/production` laid over it.
 * @returns null when there is none; `path` is the file that stands for all of them
 */
export async function readHugoConfig(reading: SiteReading): Promise<{ path: string; value: Value | null } | null> {
  const { layout, present, paths } = reading;
  const directory = joinPath(layout.root, 'config');
  const named = (names: readonly string[]) =>
    names
      .flatMap((name) => formats.map((format) => joinPath(layout.root, `${name}.${format}`)))
      .find((path) => present.has(path));
  const top = named(['hugo', 'config']);
  const path = top ?? named(['config/_default/hugo', 'config/_default/config']);
  if (path === undefined) return null;
  const layers: [string, string[]][] = top === undefined ? [] : [[top, []]];
  const beside = await filterYielding(paths, (file) => file.startsWith(`${directory}/`));
  for (const environment of environments) {
    for (const file of beside.slice(0, mostFiles)) {
      const rest = below(joinPath(directory, environment), file);
      const [, name] = /(?:^|\/)([^/]+)\.(?:toml|ya?ml|json)$/.exec(rest ?? '') ?? [];
      if (name !== undefined) layers.push([file, keysOf(name)]);
    }
  }
  let value: Value | null = null;
  for (const [file, keys] of layers) {
    const own = isOfValues(keys) ? { ...reading, settings: new Set<string>() } : reading;
    const read = await readDataConfig(file, own);
    if (read !== null) value = merge(value ?? undefined, nested(keys, read, { path: file, line: 1 }));
  }
  return { path, value };
}

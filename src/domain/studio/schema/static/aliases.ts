import type { SiteFiles } from '../collection-schema.ts';
import { jsonValue } from '../config/json-value.ts';
import { at, entriesOf, textAt, textsOf } from './read-value.ts';
import { MAX_SOURCE } from './syntax.ts';

/** Paths a specifier may stand for, from the repository root; none when it is a package. */
export type Aliases = (specifier: string) => string[];

const join = (...parts: string[]) => parts.filter((part) => part !== '' && part !== '.').join('/');
const clean = (path: string) => path.replace(/^(\.\/)+/, '').replace(/\/+$/, '');

/**
 * The `paths` of the nearest `tsconfig.json` or `jsconfig.json`, as far as they are in that file: what it extends is usually a package.
 * @param from the file that imports, from the repository root
 */
export async function readAliases(
  from: string,
  site: SiteFiles,
  known: ReadonlySet<string>,
): Promise<{ aliases: Aliases; path: string | null }> {
  const none = { aliases: () => [], path: null };
  const parts = from.split('/').slice(0, -1);
  const homes = [...parts.keys(), parts.length].toReversed().map((count) => parts.slice(0, count).join('/'));
  const names = homes.flatMap((home) => ['tsconfig.json', 'jsconfig.json'].map((name) => join(home, name)));
  const path = names.find((name) => known.has(name));
  const text = path === undefined ? null : await site.read(path);
  if (path === undefined || text === null || text.length > MAX_SOURCE) return none;
  let config: Awaited<ReturnType<typeof jsonValue>>;
  try {
    config = await jsonValue(path, text);
  } catch {
    // A broken tsconfig is the site's own trouble; its aliases are packages nobody knows then.
    return { aliases: () => [], path };
  }
  const options = at(config ?? undefined, 'compilerOptions');
  const base = join(path.slice(0, Math.max(0, path.lastIndexOf('/'))), clean(textAt(options, 'baseUrl') ?? ''));
  const rules = entriesOf(at(options, 'paths')).map(([pattern, targets]) => ({ pattern, targets: textsOf(targets) }));
  const aliases: Aliases = (specifier) =>
    rules.flatMap(({ pattern, targets }) => {
      const [before = '', after = '', ...more] = pattern.split('*');
      if (more.length > 0 || !specifier.startsWith(before) || !specifier.endsWith(after)) return [];
      if (!pattern.includes('*'))
        return specifier === pattern ? targets.map((target) => join(base, clean(target))) : [];
      const middle = specifier.slice(before.length, specifier.length - after.length);
      return targets.map((target) => join(base, clean(target.replace('*', () => middle))));
    });
  return { aliases, path };
}

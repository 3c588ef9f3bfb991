import { posix } from 'node:path';
import type { SiteFiles } from '../collection-schema.ts';
import { jsonValue } from './evaluate.ts';
import { MAX_SOURCE } from './syntax.ts';
import { at, entriesOf, textAt, textsOf } from './values.ts';

/** Paths a specifier may stand for, from the repository root; none when it is a package. */
export type Aliases = (specifier: string) => string[];

/** The specifiers that may stand for a path from the repository root: the inverse of `Aliases`. */
export type Specifiers = (path: string) => string[];

const join = (...parts: string[]) => parts.filter((part) => part !== '' && part !== '.').join('/');
const clean = (path: string) => path.replace(/^(\.\/)+/, '').replace(/(?<!\/)\/+$/, '');

/** Whether a file may say what specifiers stand for. */
export const isAliasConfig = (path: string): boolean => /(?:^|\/)[tj]sconfig\.json$/.test(path);

/** The nearest of the known configs to a file: `tsconfig.json` or `jsconfig.json`; undefined without one. */
export function configFor(from: string, known: ReadonlySet<string>): string | undefined {
  const parts = from.split('/').slice(0, -1);
  const homes = [...parts.keys(), parts.length].toReversed().map((count) => parts.slice(0, count).join('/'));
  const names = homes.flatMap((home) => ['tsconfig.json', 'jsconfig.json'].map((name) => join(home, name)));
  return names.find((name) => known.has(name));
}

/**
 * The `paths` of the nearest `tsconfig.json` or `jsconfig.json`, as far as they are in that file: what it extends is usually a package.
 * @param from the file that imports, from the repository root
 */
export async function readAliases(
  from: string,
  site: SiteFiles,
  known: ReadonlySet<string>,
): Promise<{ aliases: Aliases; specifiers: Specifiers; path: string | null }> {
  const none = { aliases: () => [], specifiers: () => [], path: null };
  const path = configFor(from, known);
  const text = path === undefined ? null : await site.read(path);
  if (path === undefined || text === null || text.length > MAX_SOURCE) return none;
  let config: Awaited<ReturnType<typeof jsonValue>>;
  try {
    config = await jsonValue(path, text, site.budget);
  } catch {
    // A broken tsconfig is the site's own fault; its aliases are unknown packages then.
    return { ...none, path };
  }
  const options = at(config ?? undefined, 'compilerOptions');
  const base = join(path.slice(0, Math.max(0, path.lastIndexOf('/'))), clean(textAt(options, 'baseUrl') ?? ''));
  const rules = entriesOf(at(options, 'paths')).map(([pattern, targets]) => ({
    pattern,
    targets: textsOf(targets).map((target) => posix.normalize(join(base, clean(target)))),
  }));
  const aliases: Aliases = (specifier) =>
    rules.flatMap(({ pattern, targets }) => {
      const [before = '', after = '', ...more] = pattern.split('*');
      if (more.length > 0 || !specifier.startsWith(before) || !specifier.endsWith(after)) return [];
      if (!pattern.includes('*')) return specifier === pattern ? targets : [];
      const middle = specifier.slice(before.length, specifier.length - after.length);
      return targets.map((target) => target.replace('*', () => middle));
    });
  const specifiers: Specifiers = (file) =>
    rules.flatMap(({ pattern, targets }) =>
      targets.flatMap((target) => {
        const [before = '', after] = target.split('*');
        if (after === undefined || !pattern.includes('*')) return target === file ? [pattern] : [];
        const fits = file.length >= target.length - 1 && file.startsWith(before) && file.endsWith(after);
        return fits ? [pattern.replace('*', () => file.slice(before.length, file.length - after.length))] : [];
      }),
    );
  return { aliases, specifiers, path };
}

import { compileGlob, type Glob } from '../glob.ts';
import { dataExtensions, extensionOf, joinPath, markdownExtensions } from '../site-layout.ts';
import { resolvePath } from '../static/module-graph.ts';
import { property, type RecordValue, textOf, type Value } from '../static/values.ts';

/** Which files a collection has; all paths from the repository root. */
export interface Files {
  base: string;
  /** The deepest directory that certainly holds them all. */
  area: string;
  /** The file holds many items. */
  single: boolean;
  matches(path: string): boolean;
}

export type Located = Files | { unknown: string };

const legacyExtensions = { content: [...markdownExtensions], data: [...dataExtensions] } as const;
const known: ReadonlySet<string> = new Set([...markdownExtensions, ...dataExtensions]);

/** The arguments of a call of `name` from `module`; null for anything else. */
function argumentsOf(value: Value, module: string, name: string): readonly Value[] | null {
  if (value.kind !== 'call' || value.callee.kind !== 'external') return null;
  return value.callee.module === module && value.callee.name === name ? value.args : null;
}

/** Files below `src/content/<name>`, but for names that begin with an underscore. */
export function legacyFiles(root: string, name: string, kind: 'content' | 'data' | 'any'): Files {
  const base = joinPath(root, 'src/content', name);
  const extensions: ReadonlySet<string> = kind === 'any' ? known : new Set(legacyExtensions[kind]);
  const matches = (path: string) =>
    path.startsWith(`${base}/`) &&
    extensions.has(extensionOf(path)) &&
    !path
      .slice(base.length)
      .split('/')
      .some((part) => /^[_.]/.test(part));
  return { base, area: base, single: false, matches };
}

function globFiles(root: string, base: string, patterns: readonly string[]): Located {
  const directory = resolvePath(root, base);
  if (directory === null || base.startsWith('/')) return { unknown: `the base "${base}" lies outside the repository` };
  const positive: Glob[] = [];
  const negative: Glob[] = [];
  for (const pattern of patterns) {
    const glob = compileGlob(pattern.replace(/^!/, ''));
    if (glob === null) return { unknown: `the pattern "${pattern}" is not understood` };
    (pattern.startsWith('!') ? negative : positive).push(glob);
  }
  const prefix = directory === '' ? '' : `${directory}/`;
  const matches = (path: string) => {
    if (!path.startsWith(prefix) || !known.has(extensionOf(path)) || path.includes('node_modules/')) return false;
    const rest = path.slice(prefix.length);
    return positive.some((glob) => glob.matches(rest)) && !negative.some((glob) => glob.matches(rest));
  };
  const areas = new Set(positive.map((glob) => glob.prefix));
  return {
    base: directory,
    area: joinPath(directory, areas.size === 1 ? ([...areas][0] ?? '') : ''),
    single: false,
    matches,
  };
}

function textsOf(value: Value | undefined): string[] | null {
  const one = textOf(value);
  if (one !== undefined) return [one];
  const all = value?.kind === 'list' ? value.items.map(textOf) : [undefined];
  return all.includes(undefined) ? null : all.filter((text) => text !== undefined);
}

function readGlob(options: Value | undefined, root: string): Located {
  if (options?.kind !== 'record') return { unknown: 'the options of glob() are not known' };
  const patterns = textsOf(property(options, 'pattern'));
  const base = property(options, 'base');
  const directory = base === undefined ? '.' : textOf(base);
  if (patterns === null || directory === undefined) return { unknown: 'the pattern or base of glob() is not known' };
  return globFiles(root, directory, patterns);
}

/** What the `loader` or `type` of a collection says about its files. */
export function locateFiles(definition: RecordValue, name: string, root: string): Located {
  const loader = property(definition, 'loader');
  if (loader === undefined) {
    const type = textOf(property(definition, 'type'));
    return legacyFiles(root, name, type === 'data' ? 'data' : 'content');
  }
  const glob = argumentsOf(loader, 'astro/loaders', 'glob');
  if (glob) return readGlob(glob[0], root);
  const file = argumentsOf(loader, 'astro/loaders', 'file');
  if (file) return oneFile(textOf(file[0]), root);
  const starlight = '@astrojs/starlight/loaders';
  if (argumentsOf(loader, starlight, 'docsLoader')) {
    return globFiles(root, 'src/content/docs', ['**/[^_]*.{markdown,mdown,mkdn,mkd,mdwn,md,mdx}']);
  }
  if (argumentsOf(loader, starlight, 'i18nLoader')) {
    return globFiles(root, 'src/content/i18n', ['**/[^_]*.{json,yml,yaml,toml}']);
  }
  return { unknown: loader.kind === 'unknown' ? loader.reason : 'it is no loader of files that is known' };
}

function oneFile(path: string | undefined, root: string): Located {
  const file = path === undefined || path.startsWith('/') ? null : resolvePath(root, path);
  if (file === null) return { unknown: 'the path of file() is not known' };
  const base = file.slice(0, Math.max(0, file.lastIndexOf('/')));
  return { base, area: file, single: true, matches: (other) => other === file };
}

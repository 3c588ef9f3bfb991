import { entryExtensions, type Files, filesOf, globFiles, type Located, oneFile } from '../files.ts';
import { without } from '../path-set.ts';
import { dataExtensions, joinPath, markdownExtensions } from '../site-layout.ts';
import { property, type RecordValue, textOf, type Value } from '../static/values.ts';

const legacyExtensions = { content: [...markdownExtensions], data: [...dataExtensions] } as const;

/** The arguments of a call of `name` from `module`; null for anything else. */
function argumentsOf(value: Value, module: string, name: string): readonly Value[] | null {
  if (value.kind !== 'call' || value.callee.kind !== 'external') return null;
  return value.callee.module === module && value.callee.name === name ? value.args : null;
}

/** Files below `src/content/<name>`, but for names that begin with an underscore. */
export function legacyFiles(root: string, name: string, kind: 'content' | 'data' | 'any'): Files {
  const base = joinPath(root, 'src/content', name);
  const extensions = [...(kind === 'any' ? entryExtensions : legacyExtensions[kind])];
  const paths = without({ kind: 'folder', base, extensions }, { kind: 'marked', base, marks: '_.' });
  return filesOf({ base, area: base, single: false, paths });
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
  if (file) return oneFile(root, textOf(file[0]));
  const starlight = '@astrojs/starlight/loaders';
  if (argumentsOf(loader, starlight, 'docsLoader')) {
    return globFiles(root, 'src/content/docs', ['**/[^_]*.{markdown,mdown,mkdn,mkd,mdwn,md,mdx}']);
  }
  if (argumentsOf(loader, starlight, 'i18nLoader')) {
    return globFiles(root, 'src/content/i18n', ['**/[^_]*.{json,yml,yaml,toml}']);
  }
  return { unknown: loader.kind === 'unknown' ? loader.reason : 'it is no loader of files that is known' };
}

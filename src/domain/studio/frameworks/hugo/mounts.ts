import { compileGlob, type Glob } from '../../schema/glob.ts';
import { joinPath } from '../../schema/site-layout.ts';
import { resolvePath } from '../../schema/static/module-graph.ts';
import { itemsOf, textOf, textsOf, type Value } from '../../schema/static/values.ts';
import { directoryOf } from '../routing/paths.ts';
import { pick } from './config.ts';

/** Files that Hugo takes for content. */
export interface ContentMount {
  /** A directory, or a single file, from the repository's root. */
  source: string;
  /** Where they are among the content; `''` at its top. */
  target: string;
  /** The language they all have; null: their names tell. */
  language: string | null;
  /** Whether a path below the source is taken. */
  accepts(rest: string): boolean;
}

const clean = (path: string) => path.replace(/^\.?\/+|(?<!\/)\/+$/g, '');
const everything = () => true;

/** A directory of content as it is without mounts. */
export const contentDirectory = (root: string, directory: string, language: string | null): ContentMount => ({
  source: joinPath(root, clean(directory)),
  target: '',
  language,
  accepts: everything,
});

/** As Hugo's own globs are read, where two stars at the beginning of a name stand for any number of directories before it. */
export const hugoGlob = (pattern: string): Glob | null => compileGlob(pattern.replace(/(^|\/)\*\*(?=[^/])/g, '$1**/*'));

/**
 * What of a directory is taken: what is included, else what is not excluded. A directory is entered when it is included itself, or holds
 * what a pattern names; so `*.md` takes no file of directories.
 * @returns null when a pattern is not understood
 */
function filterOf(included: readonly string[], excluded: readonly string[]): ContentMount['accepts'] | null {
  if (included.length === 0 && excluded.length === 0) return everything;
  const above = included.map((pattern) => directoryOf(clean(pattern))).filter(Boolean);
  const parents = above.flatMap((path) => path.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/')));
  const [inclusions, entered, exclusions] = [included, parents, excluded].map((patterns) =>
    patterns.map((pattern) => hugoGlob(clean(pattern))),
  );
  if (!inclusions || !entered || !exclusions) return null;
  if ([...inclusions, ...entered, ...exclusions].includes(null)) return null;
  const fits = (globs: readonly (Glob | null)[], path: string) => globs.some((glob) => glob?.matches(path));
  const takes = (path: string, isDirectory: boolean) => {
    if (fits(inclusions, path) || (isDirectory && fits(entered, path))) return true;
    return !fits(exclusions, path) && inclusions.length === 0;
  };
  return (rest) => {
    const parts = rest.split('/');
    return parts.every((_, at) => takes(parts.slice(0, at + 1).join('/'), at < parts.length - 1));
  };
}

/**
 * The mounts of `module.mounts` whose target is one of Hugo's directories; empty without any: the usual directory is mounted then.
 * @param onUnknown called with the setting whose value cannot be determined; the mount is left out
 */
export function mountsOn(
  component: 'content' | 'data' | 'i18n',
  main: Value | null,
  root: string,
  onUnknown: (name: string, value: Value) => void,
): ContentMount[] {
  return itemsOf(pick(pick(main, 'module'), 'mounts')).flatMap((mount): ContentMount[] => {
    const target = clean(textOf(pick(mount, 'target')) ?? '');
    if (target !== component && !target.startsWith(`${component}/`)) return [];
    const texts = (name: string) => textsOf(pick(mount, name));
    const accepts = filterOf(texts('includeFiles'), texts('excludeFiles'));
    const written = textOf(pick(mount, 'source'));
    // What lies outside the repository is no entry of it.
    const source = written === undefined || written.startsWith('/') ? null : resolvePath(root, written);
    if (accepts === null || written === undefined) onUnknown('module.mounts', mount);
    if (accepts === null || source === null) return [];
    const language = textOf(pick(mount, 'lang')) ?? null;
    return [{ source, target: target.slice(component.length + 1), language, accepts }];
  });
}

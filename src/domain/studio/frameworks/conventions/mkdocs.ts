import { type ConfigReading, readDataConfig } from '../../schema/config/config-file.ts';
import { compileGlob } from '../../schema/glob.ts';
import { below, joinPath } from '../../schema/site-layout.ts';
import { resolvePath } from '../../schema/static/module-graph.ts';
import { at, entriesOf, textAt, textOf, type Value } from '../../schema/static/values.ts';
import { basePath, directoryOf, nameOf, urlPath, withoutExtension } from '../routing/paths.ts';
import type { RouteContext, RouteRule } from '../routing/route-rule.ts';
import { Settings } from '../routing/settings.ts';
import { byConvention } from './convention.ts';

const mostInherited = 5;

/** The configuration with those it inherits from below it, key by key. */
export async function readMkdocsConfig(path: string, reading: ConfigReading, level = 0): Promise<Value | null> {
  const own = await readDataConfig(path, reading);
  const parent = textAt(own ?? undefined, 'INHERIT');
  const above = parent === undefined || level === mostInherited ? null : resolvePath(directoryOf(path), parent);
  if (own?.kind !== 'record' || above === null) return own;
  const inherited = await readMkdocsConfig(above, reading, level + 1);
  return inherited?.kind === 'record' ? { ...own, parts: [...inherited.parts, ...own.parts] } : own;
}

/** Names of the plug-ins with their options; `material/blog` is `blog`. */
function pluginsOf(settings: Settings): Map<string, Value | undefined> {
  const items = settings.items('plugins').flatMap((one): [string, Value | undefined][] => {
    const name = textOf(one);
    return name === undefined ? entriesOf(one).slice(0, 1) : [[name, undefined]];
  });
  return new Map([...items, ...settings.entries('plugins')].map(([name, own]) => [name.replace(/^.*\//, ''), own]));
}

/** Whether a path is left out by patterns as `.gitignore` has them; null when one is not understood. */
function exclusion(text: string): ((rest: string) => boolean) | null {
  const lines = text.split('\n').map((line) => line.trim());
  const patterns = lines.filter((line) => line !== '' && !line.startsWith('#'));
  const rules = patterns.map((pattern) => {
    const bare = pattern.replace(/^!/, '').replace(/\/$/, '');
    const anchored = bare.includes('/') ? bare.replace(/^\//, '') : `**/${bare}`;
    return { keeps: pattern.startsWith('!'), glob: compileGlob(anchored), below: compileGlob(`${anchored}/**`) };
  });
  if (rules.some(({ glob, below: inside }) => glob === null || inside === null)) return null;
  return (rest) => {
    const last = rules.findLast(({ glob, below: inside }) => glob?.matches(rest) || inside?.matches(rest));
    return last !== undefined && !last.keeps;
  };
}

/** Plug-ins that make pages of files elsewhere, or leave some out, beside the others. */
const mixing = ['monorepo', 'multirepo', 'exclude', 'simple', 'same-dir', 'file-filter', 'gen-files', 'mike'];

/** Whether the plug-ins decide about a path in a way that is not known here; each is named in the warnings. */
function movedByPlugins(settings: Settings): (rest: string) => boolean {
  const plugins = pluginsOf(settings);
  for (const name of mixing) if (plugins.has(name)) settings.warn(`plugins.${name}`);
  if (settings.at('hooks') !== undefined) settings.warn('hooks', settings.at('hooks'));
  if (plugins.has('i18n')) {
    settings.warn('plugins.i18n', plugins.get('i18n'));
    return () => true;
  }
  if (!plugins.has('blog')) return () => false;
  const options = plugins.get('blog');
  settings.warn('plugins.blog', options);
  const blog = (textAt(options, 'blog_dir') ?? 'blog').replace(/^\.?\/*|(?<!\/)\/+$/g, '');
  const posts = (textAt(options, 'post_dir') ?? '{blog}/posts').replace('{blog}', blog === '.' ? '' : blog);
  const directory = joinPath(...posts.split('/').filter((part) => part !== '.'));
  return (rest) => below(directory, rest) !== null;
}

/** The plug-in for reading without a server writes no directories. */
function isOffline(settings: Settings): boolean {
  const plugins = pluginsOf(settings);
  const enabled = at(plugins.get('offline'), 'enabled');
  if (enabled !== undefined && typeof (enabled.kind === 'scalar' ? enabled.value : null) !== 'boolean')
    settings.warn('plugins.offline.enabled', enabled);
  return plugins.has('offline') && (enabled === undefined || (enabled.kind === 'scalar' && enabled.value === true));
}

/** MkDocs: the path below `docs_dir`, a directory for each page unless `use_directory_urls` is off. */
export async function readMkdocsRule(reading: RouteContext): Promise<RouteRule> {
  const { config } = reading.detected;
  const value = config === null ? null : await readMkdocsConfig(config, reading);
  const settings = new Settings(value, config ?? reading.layout.root, reading);
  const docs = joinPath(
    reading.layout.root,
    (settings.text('docs_dir') ?? 'docs').replace(/^(\.?\/)+|(?<!\/)\/+$/g, ''),
  );
  const directories = (settings.flag('use_directory_urls') ?? true) && !isOffline(settings);
  const isMoved = movedByPlugins(settings);
  const excluded = ['exclude_docs', 'draft_docs'].map((name) => {
    const rule = exclusion(settings.text(name) ?? '');
    if (rule === null) settings.warn(name, settings.at(name));
    return rule;
  });
  return byConvention(
    settings,
    {
      base: basePath(settings.text('site_url')),
      links: { files: 'relative', pages: 'relative' },
      undetermined: settings.firstUnknown('site_url', 'use_directory_urls', 'docs_dir'),
    },
    ({ path }) => {
      const rest = below(docs, path);
      if (rest === null || !/\.(md|markdown|mdown|mkdn|mkd)$/.test(rest)) return null;
      if (/(^|\/)\.|^templates\//.test(rest) || isMoved(rest) || excluded.some((one) => one?.(rest))) return null;
      const stem = withoutExtension(rest);
      const directory = directoryOf(rest);
      const name = nameOf(stem);
      // Of the two names for a directory's page the index is taken.
      if (name === 'README' && reading.present.has(joinPath(docs, directory, 'index.md'))) return null;
      const isIndex = name === 'index' || name === 'README';
      if (directories) return isIndex ? urlPath(directory, '/') : urlPath(stem, '/');
      return isIndex ? urlPath(directory, 'index.html') : urlPath(`${stem}.html`);
    },
  );
}

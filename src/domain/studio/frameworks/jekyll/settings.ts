import { isRecord } from '../../../../lib/objects.ts';

import { readDataConfig } from '../../schema/config/config-file.ts';
import { compileGlob } from '../../schema/glob.ts';
import { joinPath } from '../../schema/site-layout.ts';
import { at, dataOf, entriesOf, isTrue, textAt, textsOf } from '../../schema/static/values.ts';
import { basePath } from '../routing/paths.ts';
import type { RouteContext } from '../routing/route-rule.ts';
import { Settings } from '../routing/settings.ts';

/** Values for the documents of a type below a path. */
interface DefaultScope {
  path: string;
  type: string | undefined;
  values: Record<string, unknown>;
}

/** What decides where Jekyll writes a file. */
export interface JekyllSettings {
  settings: Settings;
  base: string;
  /** Directory of the site's files, from the repository's root. */
  source: string;
  permalink: string;
  /** Collections by name, but for posts and drafts. */
  collections: Map<string, { output: boolean; permalink: string | undefined }>;
  postsPermalink: string | undefined;
  collectionsDirectory: string;
  timeZone: string | undefined;
  /** Documents are published before their date. */
  future: boolean;
  /** A plug-in makes pages of Markdown files without frontmatter too. */
  optionalFrontmatter: boolean;
  isExcluded(relative: string): boolean;
  /** Frontmatter that a document's type and place give it. */
  defaults(relative: string, type: string): Record<string, unknown>;
}

const alwaysExcluded = [
  '.sass-cache',
  '.jekyll-cache',
  'gemfiles',
  'Gemfile',
  'Gemfile.lock',
  'node_modules',
  'vendor/bundle',
  'vendor/cache',
  'vendor/gems',
  'vendor/ruby',
];

export async function readJekyllSettings(reading: RouteContext): Promise<JekyllSettings> {
  const { config } = reading.detected;
  const value = config === null ? null : await readDataConfig(config, reading);
  const settings = new Settings(value, config ?? reading.layout.root, reading);
  const within = (settings.text('source') ?? '').replace(/^\.?\/*|(?<!\/)\/+$/g, '');
  const { collections, postsPermalink } = readCollections(settings);
  const excluded = [...alwaysExcluded, ...settings.texts('exclude')];
  const included = settings.texts('include');
  return {
    settings,
    base: basePath(settings.text('baseurl')),
    source: joinPath(reading.layout.root, within.includes('..') ? '' : within),
    permalink: settings.text('permalink') ?? 'date',
    collections,
    postsPermalink,
    collectionsDirectory: (settings.text('collections_dir') ?? '').replace(/^\/+|(?<!\/)\/+$/g, ''),
    timeZone: settings.text('timezone'),
    future: settings.flag('future') ?? false,
    optionalFrontmatter: hasOptionalFrontmatter(settings, reading),
    isExcluded: exclusion(excluded, included),
    defaults: readDefaults(settings),
  };
}

function hasOptionalFrontmatter(settings: Settings, { detected }: RouteContext): boolean {
  const gems = detected.manifest?.dependencies.map(({ name }) => name) ?? [];
  const plugins = [...settings.texts('plugins'), ...settings.texts('gems')];
  return plugins.includes('jekyll-optional-front-matter') || gems.includes('github-pages');
}

function readCollections(settings: Settings) {
  const value = settings.at('collections');
  const named =
    value?.kind === 'list'
      ? value.items.flatMap((one) => {
          const [name] = textsOf(one);
          return name === undefined ? entriesOf(one) : [[name, one] as const];
        })
      : entriesOf(value);
  const collections: JekyllSettings['collections'] = new Map();
  for (const [name, options] of named)
    collections.set(name, { output: isTrue(at(options, 'output')), permalink: textAt(options, 'permalink') });
  return { collections, postsPermalink: collections.get('posts')?.permalink };
}

/** Whether a path, or a directory it lies in, is left out; a name that is included wins over underscores and dots. */
function exclusion(excluded: readonly string[], included: readonly string[]): (relative: string) => boolean {
  const fits = (patterns: readonly string[]) => {
    const globs = patterns.map((pattern) => ({
      text: pattern.replace(/^\/|\/$/g, ''),
      glob: compileGlob(pattern.replace(/^\/|\/$/g, '')),
    }));
    return (relative: string, name: string) =>
      globs.some(
        ({ text, glob }) =>
          relative === text || relative.startsWith(`${text}/`) || name === text || glob?.matches(relative),
      );
  };
  const isExcluded = fits(excluded);
  const isIncluded = fits(included);
  return (relative) => {
    const parts = relative.split('/');
    return parts.some((name, at) => {
      const path = parts.slice(0, at + 1).join('/');
      if (isIncluded(path, name)) return false;
      return /^[._#]|~$/.test(name) || isExcluded(path, path);
    });
  };
}

function readDefaults(settings: Settings): JekyllSettings['defaults'] {
  const scopes = settings.items('defaults').flatMap((one): DefaultScope[] => {
    const values = dataOf(at(one, 'values'));
    const path = (textAt(one, 'scope', 'path') ?? '').replace(/^\/+|(?<!\/)\/+$/g, '');
    return isRecord(values) ? [{ path, type: textAt(one, 'scope', 'type'), values }] : [];
  });
  // The more a scope says the stronger it is; of equals the later one.
  const strength = ({ path, type }: DefaultScope) => path.length * 2 + (type === undefined ? 0 : 1);
  scopes.sort((a, b) => strength(a) - strength(b));
  const compiled = scopes.map((scope) => ({
    ...scope,
    glob: scope.path.includes('*') ? compileGlob(scope.path) : null,
  }));
  return (relative, type) => {
    const values: Record<string, unknown> = {};
    for (const scope of compiled) {
      if (scope.type !== undefined && scope.type !== type) continue;
      const inside = scope.path === '' || relative === scope.path || relative.startsWith(`${scope.path}/`);
      if (inside || scope.glob?.matches(relative)) Object.assign(values, scope.values);
    }
    return values;
  };
}

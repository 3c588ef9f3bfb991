import type { CollectionSchema, SiteFiles } from './collection-schema.ts';
import { compileGlob } from './glob.ts';
import { type Membership, membership, type PathSet, without } from './path-set.ts';
import type { Warning } from './schema.schema.ts';
import { dataExtensions, joinPath, markdownExtensions, type SiteLayout } from './site-layout.ts';
import { resolvePath } from './static/module-graph.ts';
import { ReadingBudget } from './static/reading-budget.ts';

/** Which files a collection has; all paths from the repository root. */
export interface Files {
  base: string;
  /** The deepest directory that certainly holds them all. */
  area: string;
  /** The collection is this one file. */
  single: boolean;
  paths: PathSet;
  /** Whether a path is among `paths`. */
  matches: Membership;
}

export type Located = Files | { unknown: string };

export const filesOf = (found: Omit<Files, 'matches'>): Files => ({ ...found, matches: membership(found.paths) });

/** Extensions an entry can have at all. */
export const entryExtensions: ReadonlySet<string> = new Set([...markdownExtensions, ...dataExtensions]);

/** The files of a directory that fit any of the patterns and none of the negated ones (`!`). */
export function globFiles(root: string, base: string, patterns: readonly string[]): Located {
  const directory = resolvePath(root, base);
  if (directory === null || base.startsWith('/')) return { unknown: `the base "${base}" lies outside the repository` };
  const compiled = patterns.map((pattern) => compileGlob(pattern.replace(/^!/, '')));
  const bad = compiled.indexOf(null);
  if (bad !== -1) return { unknown: `the pattern "${patterns[bad]}" is not understood` };
  const among = (globs: readonly string[]): PathSet => ({ kind: 'glob', base: directory, patterns: globs });
  const positive = patterns.filter((pattern) => !pattern.startsWith('!'));
  const negative = patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1));
  const entries: PathSet = { kind: 'folder', base: directory, extensions: [...entryExtensions] };
  const paths = without({ kind: 'intersection', of: [entries, among(positive)] }, among(negative));
  const areas = new Set(compiled.flatMap((glob, at) => (glob && !patterns[at]?.startsWith('!') ? [glob.prefix] : [])));
  const area = joinPath(directory, areas.size === 1 ? ([...areas][0] ?? '') : '');
  return filesOf({ base: directory, area, single: false, paths });
}

/** Exactly one file; `path` is relative to `root`. */
export function oneFile(root: string, path: string | undefined): Located {
  const file = path === undefined || path.startsWith('/') ? null : resolvePath(root, path);
  if (file === null || file === '') return { unknown: 'the path of the file is not known' };
  const base = file.slice(0, Math.max(0, file.lastIndexOf('/')));
  return filesOf({ base, area: file, single: true, paths: { kind: 'listed', paths: [file] } });
}

interface FolderRules {
  extensions: readonly string[];
  /** How many segments below the directory a file may have; 1: directly in it. */
  depth?: number;
  /** Of those, only the ones among these; `base` is the directory from the repository root. */
  only?: (base: string) => PathSet;
  except?: (base: string) => PathSet;
}

/** The files of a directory with one of the extensions. */
export function folderFiles(root: string, folder: string, rules: FolderRules): Located {
  const base = resolvePath(root, folder.replace(/^\/+/, ''));
  if (base === null) return { unknown: `the folder "${folder}" lies outside the repository` };
  const { depth, only, except } = rules;
  const extensions = rules.extensions.map((extension) => extension.toLowerCase());
  const all: PathSet = { kind: 'folder', base, extensions, ...(depth !== undefined && { depth }) };
  const kept: PathSet = only ? { kind: 'intersection', of: [all, only(base)] } : all;
  return filesOf({ base, area: base, single: false, paths: without(kept, ...(except ? [except(base)] : [])) });
}

/** A site whose readers share one budget. */
export const budgeted = (site: SiteFiles): SiteFiles => ({
  paths: site.paths,
  read: (path) => site.read(path),
  budget: site.budget ?? new ReadingBudget(),
});

/** What every reader works on; a reader adds warnings, the configuration files it read, and the site's locales when it learns them. */
export interface SiteReading {
  site: SiteFiles;
  paths: readonly string[];
  present: ReadonlySet<string>;
  layout: SiteLayout;
  warnings: Warning[];
  dependencies: Set<string>;
  /** Of those, files that say which files are content, or are read by one that does. */
  settings: Set<string>;
  /** Set by a reader whose result follows from more of the tree than configuration files and which files its collections have. */
  readsListing?: true;
}

/** A collection on its way: not yet free of overlaps, its fields perhaps still to be inferred. */
export interface Draft {
  schema: CollectionSchema;
  infer: boolean;
  /** Files this collection's configuration leaves out on purpose, so that no other collection picks them up. */
  rejects: PathSet;
  /**
   * Completes the schema by the files there are. A configuration may declare thousands of collections, a site may have 200,000 files: it is done in
   * steps, and only for the collections that are shown.
   */
  settle?(paths: readonly string[]): Promise<void>;
}

/** Reads the collections one CMS or framework declares. Never throws for what a repository may contain. */
export interface SchemaReader {
  name: string;
  read(reading: SiteReading): Promise<Draft[]>;
}

import type { LocaleRules, SlugCollection } from '../slug.ts';
import type { EntryTemplate } from './entry-template.ts';
import type { PathSet } from './path-set.ts';
import type { StudioSchema, Warning } from './schema.schema.ts';
import type { RootOrigin } from './site-layout.ts';
import type { ReadingBudget } from './static/reading-budget.ts';

/** A directory of files that are published beside the pages. */
export interface MediaRoot {
  path: string;
  /** URL path under which the files are published; null when the framework decides per use. */
  public_path: string | null;
}

/** One commit's tree, given by the caller: discovery itself touches neither files nor git. */
export interface SiteFiles {
  /** All regular files; `path` is relative to the repository root. */
  readonly paths: readonly { path: string; oid: string }[];
  /** Text of a file; null when it is absent, not a regular file, not UTF-8, or larger than 1 MiB. */
  read(path: string): Promise<string | null>;
  /** What all readers of configurations take their steps from; absent: each has one of its own. */
  readonly budget?: ReadingBudget;
}

/** The metadata of one entry; null when it could not be parsed. */
export interface EntrySample {
  path: string;
  frontmatter: Record<string, unknown> | null;
}

/** A collection with its Field tree; everything of the record but `json_schema`, and what the service needs besides. A value: JSON keeps all of it. */
export interface CollectionDescription extends Omit<StudioSchema, 'json_schema'>, Omit<SlugCollection, 'matches'> {
  /** Unknown keys deserve a warning. */
  strict: boolean;
  /** The file holds many items (an object by id, or an array), and the fields describe one of them. */
  items_in_file: boolean;
  /** How its new entries begin, when the site says so. */
  template?: EntryTemplate;
  /** Its files, as far as no collection of precedence has them. */
  paths: PathSet;
}

/** A collection that can tell its entries. */
export interface CollectionSchema extends CollectionDescription, SlugCollection {
  /** Whether the file (path from the repository root) is an entry of this collection; at most one collection says yes. */
  matches(path: string): boolean;
}

export interface DiscoveryOptions {
  /** Directory of the site; absent: found by its configuration files. Files outside a given root are not looked at. */
  contentRoot?: string;
  sampleEntries(paths: readonly string[]): Promise<EntrySample[]>;
}

export interface Discovery {
  /** Sorted by collection name, at most 500. */
  schemas: CollectionSchema[];
  /** Names of the collections; a file that is among the paths of several belongs to the first. */
  precedence: string[];
  /**
   * What all this follows from: the `configuration` (the files of `dependencies`, those of `configurationFiles`, and what `listingDigest` tells),
   * or everything in the `tree`.
   */
  scope: 'configuration' | 'tree';
  warnings: Warning[];
  /** Paths of the configuration files that were read, for the cache key (with `configurationFiles`, whose appearance matters too). */
  dependencies: string[];
  /** Data among them that says which files are content, or is read by a configuration that does. */
  settings: string[];
  contentRoot: string;
  rootOrigin: RootOrigin;
  mediaRoots: MediaRoot[];
  locales: LocaleRules | null;
}

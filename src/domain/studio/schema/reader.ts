import type { CollectionSchema, SiteFiles } from './collection-schema.ts';
import type { PathSet } from './path-set.ts';
import type { Warning } from './schema.schema.ts';
import type { SiteLayout } from './site-layout.ts';

/** What every reader works on; a reader adds warnings, the configuration files it read, and the site's locales when it learns them. */
export interface SiteReading {
  site: SiteFiles;
  paths: readonly string[];
  present: ReadonlySet<string>;
  layout: SiteLayout;
  warnings: Warning[];
  dependencies: Set<string>;
  /** Set by a reader whose result follows from more of the tree than configuration files and which files its collections have. */
  readsListing?: true;
}

/** A collection on its way: not yet free of overlaps, its fields perhaps still to be inferred. */
export interface Draft {
  schema: CollectionSchema;
  infer: boolean;
  /** Files this collection's configuration leaves out on purpose, so that no other collection picks them up. */
  rejects: PathSet;
}

/** Reads the collections one CMS or framework declares. Never throws for what a repository may contain. */
export interface SchemaReader {
  name: string;
  read(reading: SiteReading): Promise<Draft[]>;
}

import { filterYielding, findYielding, setYielding } from '../../../lib/concurrency.ts';
import type { LocaleRules } from '../slug.ts';
import type { CollectionSchema } from './collection-schema.ts';
import type { EntryTemplate } from './entry-template.ts';
import { formatOf, humanize } from './infer-fields.ts';
import { byUse, collectionName } from './inferred-groups.ts';
import { noPaths, type PathSet } from './path-set.ts';
import type { Draft, Files, Located, SiteReading } from './reader.ts';
import {
  collectionNamePattern,
  type EntryFormat,
  type EntryKind,
  type SchemaField,
  type SchemaSource,
  type Warning,
} from './schema.schema.ts';
import { dataExtensions, extensionOf, indexNames, joinPath, markdownExtensions } from './site-layout.ts';

/** What a reader found out about one collection; what it leaves out follows from the files. */
export interface Declaration {
  name: string;
  label?: string | undefined;
  /** Absent: pages, or data where one file holds many items. */
  kind?: EntryKind | undefined;
  source: SchemaSource;
  files: Files;
  fields: readonly SchemaField[];
  warnings: Warning[];
  /** The entries tell the fields, beside those given; the schema then only warns. */
  infer?: boolean;
  /** The schema only warns, though its fields are declared. */
  lenient?: boolean;
  strict?: boolean;
  itemsInFile?: boolean;
  assetFolders?: boolean | undefined;
  format?: EntryFormat | undefined;
  /** Preferred extension first; absent: what the files have and the pattern allows. */
  extensions?: readonly string[];
  identifier?: string | undefined;
  mediaPath?: string | undefined;
  urlPattern?: string | undefined;
  indexNames?: readonly string[];
  locales?: LocaleRules | null;
  rejects?: PathSet;
  template?: EntryTemplate | undefined;
}

/** The extensions of the files there are, and those a new file could have. */
async function extensionsOf(files: Files, paths: readonly string[]): Promise<string[]> {
  const own = await filterYielding(paths, files.matches);
  const known = await byUse(own, [...markdownExtensions, ...dataExtensions]);
  const probes = known.filter((extension) =>
    ['a', 'a/a', 'a/a/a'].some((stem) => files.matches(joinPath(files.base, `${stem}.${extension}`))),
  );
  const accepted = [...new Set([...(await setYielding(own, extensionOf)), ...probes])];
  accepted.sort((a, b) => known.indexOf(a) - known.indexOf(b));
  return accepted.length > 0 ? accepted : ['md'];
}

const identifiers = ['title', 'name', 'label'];

/** Makes a draft of a declaration. */
export function declare(declaration: Declaration, { layout }: SiteReading): Draft {
  const { name, files, fields, source, warnings, infer = false } = declaration;
  const collection = collectionNamePattern.test(name) ? name : collectionName(name);
  const isOpen = declaration.extensions === undefined && !files.single;
  const extensions = [...(declaration.extensions ?? (files.single ? [extensionOf(files.area)] : ['md']))];
  const named = fields.find((field) => field.name === declaration.identifier) ?? null;
  const identifier =
    named?.name ?? identifiers.find((key) => fields.some((field) => field.name === key && !field.list));
  const schema: CollectionSchema = {
    collection,
    label: declaration.label ?? humanize(collection),
    kind: declaration.kind ?? (declaration.itemsInFile ? 'data' : 'page'),
    path: files.base,
    format: declaration.format ?? formatOf(extensions[0]),
    extensions,
    source,
    inferred: infer || (declaration.lenient ?? false),
    fields: [...fields],
    warnings,
    ...(identifier === undefined ? {} : { identifier_field: identifier }),
    ...(declaration.mediaPath === undefined ? {} : { media_path: declaration.mediaPath }),
    ...(declaration.urlPattern === undefined ? {} : { url_pattern: declaration.urlPattern }),
    strict: declaration.strict ?? false,
    items_in_file: declaration.itemsInFile ?? false,
    ...(declaration.assetFolders && { asset_folders: true as const }),
    ...(declaration.template === undefined ? {} : { template: declaration.template }),
    slugs: {
      extensions,
      index_names: declaration.indexNames ?? indexNames(layout.framework),
      locales: declaration.locales === undefined ? layout.locales : declaration.locales,
    },
    paths: files.paths,
    matches: files.matches,
  };
  /** A configuration that names no extensions means those of its files. */
  const settle = async (paths: readonly string[]) => {
    schema.extensions = await extensionsOf(files, paths);
    schema.slugs = { ...schema.slugs, extensions: schema.extensions };
    if (declaration.format === undefined) schema.format = formatOf(schema.extensions[0]);
  };
  return { infer, rejects: declaration.rejects ?? noPaths, schema, ...(isOpen && { settle }) };
}

/**
 * The collection of what pages are made of: data, whose files have a shape each, or parts in Markdown. None while there is no such file. Neither has
 * languages or names that stand for a directory.
 */
export async function besidePages(
  kind: Exclude<EntryKind, 'page'>,
  { files, ...named }: { name: string; label?: string; source: SchemaSource; files: Located },
  reading: SiteReading,
): Promise<Draft[]> {
  if ('unknown' in files || (await findYielding(reading.paths, files.matches)) === undefined) return [];
  const declaration = { ...named, files, kind, fields: [], warnings: [], lenient: true, indexNames: [], locales: null };
  return [declare(declaration, reading)];
}

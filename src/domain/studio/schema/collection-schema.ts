import { isLonger, leastJson } from '../../../lib/objects.ts';
import type { LocaleRules, SlugCollection } from '../slug.ts';
import type { EntryTemplate } from './entry-template.ts';
import type { PathSet } from './path-set.ts';
import type { FieldEditor, SchemaField, StudioSchema, Warning } from './schema.schema.ts';
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

/** Characters that the schemas of a site have together, and one of them. */
const largestSite = 8 * 1024 * 1024;
const largestSchema = 1024 * 1024;
/** Longest text that a field has beside its name, and longest message of a warning, characters. */
const longestText = 2_000;
/** Longest value that a field begins with, characters of JSON. */
const longestDefault = 16 * 1024;

const shortened = (text: string) => (text.length > longestText ? `${text.slice(0, longestText)}…` : text);

function isShort(value: unknown, most = longestText): boolean {
  if (typeof value === 'string') return value.length <= most;
  return typeof value !== 'object' || value === null || !isLonger(value, most);
}

function shortEditor(editor: FieldEditor): FieldEditor {
  const texts = Object.entries(editor).map(([key, value]) => [
    key,
    typeof value === 'string' ? shortened(value) : value,
  ]);
  const short: FieldEditor = Object.fromEntries(texts);
  const labels = editor.option_labels?.filter(({ value }) => isShort(value));
  if (labels) short.option_labels = labels.map(({ value, label }) => ({ value, label: shortened(label) }));
  return short;
}

/** A field with texts of a length that can be shown. Where an option or the pattern is too long, other values are accepted, too. */
function shortField(field: SchemaField): SchemaField {
  const { label, description, pattern, options, editor } = field;
  const short = { ...field };
  if (label !== undefined) short.label = shortened(label);
  if (description !== undefined) short.description = shortened(description);
  if (editor !== undefined) short.editor = shortEditor(editor);
  if (!isShort(pattern)) delete short.pattern;
  if (!isShort(field.default, longestDefault)) delete short.default;
  if (options === undefined || options.every((one) => isShort(one))) return short;
  delete short.options;
  return { ...short, type: 'any' };
}

/**
 * What is left for the schemas of one site. A file of 100 KB has room for thousands of aliases of a long text, and entries show keys of their
 * own: what such schemas say is kept, written and sent as a whole, time and again.
 */
export class SchemaRoom {
  #left = largestSite;
  #leftOfOne = largestSchema;

  /** Shortens the texts of a schema, and leaves out what there is no room for, with a warning. */
  fit(schema: CollectionDescription): void {
    this.#leftOfOne = Math.min(largestSchema, this.#left);
    schema.label = shortened(schema.label);
    const warnings = this.warnings(schema.warnings);
    const fields = this.#fields(schema.fields);
    const hasTemplate = schema.template === undefined || this.#takes(schema.template);
    if (!hasTemplate) delete schema.template;
    const { collection, source } = schema;
    const message = `The schema of collection "${collection}" is too large: a part of its fields, or what new entries begin with, is left out`;
    const isWhole = fields.isWhole && hasTemplate;
    const own: Warning[] = isWhole ? [] : [{ code: 'schema_too_large', message, path: source.path, collection }];
    schema.warnings = [...own, ...warnings];
    schema.fields = fields.kept;
    // A key that is not known may be one that is left out.
    if (!fields.isWhole) schema.strict = false;
  }

  /** Warnings with messages of a length that can be shown, as many as there is room for. */
  warnings(warnings: readonly Warning[]): Warning[] {
    return warnings.map((one) => ({ ...one, message: shortened(one.message) })).filter((one) => this.#takes(one));
  }

  /** Whether there is room for a part, which is taken; once it lacks for one, no further one of the schema is looked at. */
  #takes(part: object): boolean {
    const size = leastJson(part, this.#leftOfOne);
    if (size > this.#leftOfOne) {
      this.#leftOfOne = 0;
      return false;
    }
    this.#leftOfOne -= size;
    this.#left -= size;
    return true;
  }

  #fields(fields: readonly SchemaField[]): { kept: SchemaField[]; isWhole: boolean } {
    const kept: SchemaField[] = [];
    let isWhole = true;
    for (const one of fields) {
      const field = this.#field(one);
      if (field === null) return { kept, isWhole: false };
      kept.push(field.kept);
      isWhole &&= field.isWhole;
    }
    return { kept, isWhole };
  }

  /** A field with as much as there is room for of what it holds; null: not even for the field itself. */
  #field(field: SchemaField): { kept: SchemaField; isWhole: boolean } | null {
    if (this.#leftOfOne === 0) return null;
    const kept = shortField(field);
    const { fields, variants, ...own } = kept;
    if (!this.#takes(own)) return null;
    const members = fields && this.#fields(fields);
    if (members) kept.fields = members.kept;
    if (members && !members.isWhole) delete kept.strict;
    const alternatives = variants && this.#fields(variants);
    if (alternatives) kept.variants = alternatives.kept;
    // A value may fit an alternative that is left out.
    if (alternatives && !alternatives.isWhole) {
      delete kept.variants;
      kept.type = 'any';
    }
    return { kept, isWhole: (members?.isWhole ?? true) && (alternatives?.isWhole ?? true) };
  }
}

import { z } from 'zod';
import { freeObject } from '../../../kernel/shapes.ts';

/** What a value is to an editor; `any` means "not known, and not guessed". */
export const fieldTypes = [
  'string',
  'text',
  'markdown',
  'number',
  'integer',
  'boolean',
  'date',
  'datetime',
  'enum',
  'image',
  'file',
  'link',
  'reference',
  'object',
  'json',
  'any',
] as const;
export type FieldType = (typeof fieldTypes)[number];

/** Where a schema was found, in the order of discovery. A reader that is added adds its word here. */
export const schemaSourceKinds = [
  'studio_config',
  'pages_cms',
  'decap',
  'tina',
  'keystatic',
  'front_matter_cms',
  'astro',
  'nuxt',
  'hugo',
  'jekyll',
  'hexo',
  'docusaurus',
  'vitepress',
  'eleventy',
  'mkdocs',
  'inference',
] as const;
export type SchemaSourceKind = (typeof schemaSourceKinds)[number];

/** What the entries of a collection are to the site: pages, or what pages are made of, which has no address of its own. */
export const entryKind = z
  .enum(['page', 'data', 'partial'])
  .meta({ id: 'EntryKind' })
  .describe('page: its entries can be pages of the site; data: values that pages show; partial: parts of pages');
export type EntryKind = z.output<typeof entryKind>;

/** Language of the metadata: of the block in a Markdown file, or of the whole file of a data entry (its extension tells which). */
export const entryFormats = ['yaml', 'toml', 'json'] as const;
export type EntryFormat = (typeof entryFormats)[number];

export const studioWarning = z
  .object({
    code: z.string(),
    message: z.string(),
    path: z.string().optional(),
    line: z.int32().positive().optional(),
    collection: z.string().optional(),
  })
  .meta({ id: 'StudioWarning' });
export type Warning = z.output<typeof studioWarning>;

const relation = z.object({ collection: z.string(), multiple: z.boolean() }).meta({ id: 'SchemaRelation' });

/** How a form shows a field, as the site's own CMS does; nothing of it decides which values are valid. */
const fieldEditor = z
  .object({
    widget: z.enum(['color', 'hidden']).optional(),
    read_only: z.boolean().optional(),
    collapsed: z.boolean().optional().describe('An object, or each item of a list, begins closed'),
    minimized: z.boolean().optional().describe('A list that begins closed hides its items too'),
    summary: z.string().optional().describe('What a closed object or item shows; `{{name}}` stands for a field of it'),
    item_label: z.string().optional().describe('What one item of a list is called'),
    option_labels: z.array(z.object({ value: z.unknown(), label: z.string() }).meta({ id: 'OptionLabel' })).optional(),
    media_path: z.string().optional().describe('Directory that new files for it come to'),
    pattern_message: z.string().optional().describe('What is said of a value that does not match the pattern'),
  })
  .meta({ id: 'FieldEditor' });
export type FieldEditor = z.output<typeof fieldEditor>;

/**
 * One node of the Field tree. In a list everything but `required`, `nullable`, `default`, `label`, `description`, `min_items`
 * and `max_items` speaks of one item. `coerce` marks values the site converts while reading: any text a date can be made of,
 * for instance. `variants` are alternatives, of which one must fit.
 */
export const studioField = z
  .object({
    name: z.string(),
    type: z.enum(fieldTypes),
    required: z.boolean(),
    list: z.boolean(),
    nullable: z.boolean().optional(),
    label: z.string().optional(),
    description: z.string().optional(),
    default: z.unknown().optional(),
    options: z.array(z.unknown()).optional(),
    min: z.number().optional(),
    max: z.number().optional(),
    min_length: z.int32().optional(),
    max_length: z.int32().optional(),
    min_items: z.int32().optional(),
    max_items: z.int32().optional(),
    pattern: z.string().optional(),
    coerce: z.boolean().optional(),
    strict: z.boolean().optional(),
    relation: relation.optional(),
    editor: fieldEditor.optional(),
    get fields() {
      return z.array(studioField).optional();
    },
    get variants() {
      return z.array(studioField).optional();
    },
  })
  .meta({ id: 'SchemaField' });
export type SchemaField = z.output<typeof studioField>;

export const schemaSource = z
  .object({ kind: z.enum(schemaSourceKinds), path: z.string(), line: z.int32().positive().optional() })
  .meta({ id: 'SchemaSource' });
export type SchemaSource = z.output<typeof schemaSource>;

/** The record of `GET /schema` (`toRecord` makes it from a `CollectionSchema`). */
export const studioSchema = z
  .object({
    collection: z.string(),
    label: z.string(),
    kind: entryKind,
    path: z.string(),
    format: z.enum(entryFormats),
    extensions: z.array(z.string()),
    source: schemaSource,
    inferred: z.boolean(),
    fields: z.array(studioField),
    json_schema: freeObject,
    media_path: z.string().optional(),
    asset_folders: z
      .boolean()
      .optional()
      .describe(
        'Files of an entry lie in a directory beside it that has its name; its text shows them by `{% asset_img %}`',
      ),
    url_pattern: z.string().optional(),
    identifier_field: z.string().optional(),
    warnings: z.array(studioWarning),
  })
  .meta({ id: 'Schema' });
export type StudioSchema = z.output<typeof studioSchema>;

/** What a collection may be called: one URL segment. */
export const collectionNamePattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/;

import { findYielding } from '../../../../lib/concurrency.ts';
import { docusaurusDoc, docusaurusPage, docusaurusPost } from '../../schema/built-in-fields.ts';
import { codeExtensions, findConfig, readCodeConfig } from '../../schema/config/config-file.ts';
import { besidePages, declare } from '../../schema/declare.ts';
import { collectionName } from '../../schema/inferred-groups.ts';
import { noPaths, type PathSet, without } from '../../schema/path-set.ts';
import { type Draft, folderFiles, globFiles, type SchemaReader, type SiteReading } from '../../schema/reader.ts';
import type { SchemaField } from '../../schema/schema.schema.ts';
import { at, isFalse, itemsOf, textAt, textOf, type Value } from '../../schema/static/values.ts';

const kinds: Record<string, { usual: string; fields: SchemaField[] }> = {
  docs: { usual: 'docs', fields: docusaurusDoc },
  blog: { usual: 'blog', fields: docusaurusPost },
  pages: { usual: 'src/pages', fields: docusaurusPage },
};

/** Plug-ins that are read: all paths are compared with the directories of each. */
const mostPlugins = 100;

/** Docusaurus: the directories of its docs, blog and pages plug-ins; it builds no page whose known fields are wrong. */
export const docusaurusReader: SchemaReader = {
  name: 'docusaurus',
  async read(reading) {
    const path = findConfig(reading, ['docusaurus.config'], codeExtensions);
    if (path === undefined) return [];
    const { value } = await readCodeConfig(path, { ...reading, warnings: [] });
    const config = value ?? undefined;
    if (config?.kind !== 'record') {
      const message = 'The configuration cannot be read; the usual directories are taken';
      reading.warnings.push({ code: 'config_unreadable', message, path });
    }
    const drafts = new Map<string, Draft>();
    const add = async (kind: string, name: string, options: Value | undefined) => {
      const found = options && isFalse(options) ? [] : await pluginDrafts(kind, name, options, path, reading);
      for (const draft of found) if (!drafts.has(draft.schema.collection)) drafts.set(draft.schema.collection, draft);
    };
    for (const plugin of itemsOf(at(config, 'plugins')).slice(0, mostPlugins)) {
      const [name, options] = plugin.kind === 'list' ? plugin.items : [plugin];
      const kind = textOf(name)?.match(/(?:plugin-content-|^content-)(docs|blog|pages)$/)?.[1];
      if (kind) await add(kind, textAt(options, 'id') ?? textAt(options, 'path') ?? kind, options);
    }
    const [preset] = itemsOf(at(config, 'presets'));
    const options = preset?.kind === 'list' ? preset.items[1] : undefined;
    if (preset !== undefined || config?.kind !== 'record') {
      for (const kind of Object.keys(kinds)) await add(kind, kind, at(options, kind));
    }
    return [...drafts.values(), ...(await versions(path, reading)), ...(await translations(path, reading))];
  },
};

const extensions = ['md', 'mdx'];

/** Names beginning with an underscore are parts of pages. */
const partsOfPages = (base: string): PathSet => ({ kind: 'marked', base, marks: '_' });

/** Files of values: who writes, what tags are called, what a directory is called in the sidebar. */
const dataNames = (options: Value | undefined) => [
  textAt(options, 'authorsMapPath') ?? 'authors.yml',
  textAt(options, 'tags') ?? 'tags.yml',
];
const categories = '_category_.{json,yml,yaml}';

function pluginDrafts(
  kind: string,
  name: string,
  options: Value | undefined,
  path: string,
  reading: SiteReading,
): Promise<Draft[]> {
  const { usual, fields } = kinds[kind] ?? { usual: kind, fields: [] };
  const folder = textAt(options, 'path') ?? usual;
  return draftsOf({ name: collectionName(name), folder, fields, data: dataNames(options) }, path, reading);
}

interface Directory {
  name: string;
  folder: string;
  fields: SchemaField[];
  /** Globs of its files of values. */
  data: readonly string[];
}

/** The pages of a directory, and what they are made of. */
async function draftsOf(
  { name, folder, fields, data }: Directory,
  path: string,
  reading: SiteReading,
): Promise<Draft[]> {
  const { root } = reading.layout;
  const located = folderFiles(root, folder, { extensions, except: partsOfPages });
  if ('unknown' in located) return [];
  const source = { kind: 'docusaurus', path } as const;
  const beside = [
    ...(await besidePages(
      'partial',
      { name: `${name}-partials`, source, files: folderFiles(root, folder, { extensions, only: partsOfPages }) },
      reading,
    )),
    ...(await besidePages(
      'data',
      { name: `${name}-data`, source, files: globFiles('', located.base, [...data, `**/${categories}`]) },
      reading,
    )),
  ];
  if ((await findYielding(reading.paths, located.matches)) === undefined) return beside;
  const draft = declare({ name, source, files: located, fields, warnings: [] }, reading);
  const rejects =
    located.base === '' ? noPaths : without({ kind: 'folder', base: located.base, extensions }, located.paths);
  return [{ ...draft, rejects }, ...beside];
}

/** Older versions of the docs are pages of their own. */
const versions = (path: string, reading: SiteReading): Promise<Draft[]> =>
  draftsOf(
    { name: 'versioned_docs', folder: 'versioned_docs', fields: docusaurusDoc, data: ['*/tags.yml'] },
    path,
    reading,
  );

/** Texts of the theme and of plug-ins in other languages. */
const translations = (path: string, reading: SiteReading): Promise<Draft[]> =>
  besidePages(
    'data',
    {
      name: 'translations',
      source: { kind: 'docusaurus', path },
      files: folderFiles(reading.layout.root, 'i18n', { extensions: ['json'] }),
    },
    reading,
  );

import { docusaurusDoc, docusaurusPage, docusaurusPost } from '../../schema/built-in-fields.ts';
import { codeExtensions, findConfig, readCodeConfig } from '../../schema/config/config-file.ts';
import { declare } from '../../schema/declare.ts';
import { collectionName } from '../../schema/inferred-groups.ts';
import { noPaths, type PathSet, without } from '../../schema/path-set.ts';
import { type Draft, folderFiles, type SchemaReader, type SiteReading } from '../../schema/reader.ts';
import type { SchemaField } from '../../schema/schema.schema.ts';
import { at, isFalse, itemsOf, textAt, textOf, type Value } from '../../schema/static/values.ts';

const kinds: Record<string, { usual: string; fields: SchemaField[] }> = {
  docs: { usual: 'docs', fields: docusaurusDoc },
  blog: { usual: 'blog', fields: docusaurusPost },
  pages: { usual: 'src/pages', fields: docusaurusPage },
};

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
    const add = (kind: string, name: string, options: Value | undefined) => {
      const draft = options && isFalse(options) ? null : pluginDraft(kind, name, options, path, reading);
      if (draft && !drafts.has(draft.schema.collection)) drafts.set(draft.schema.collection, draft);
    };
    for (const plugin of itemsOf(at(config, 'plugins'))) {
      const [name, options] = plugin.kind === 'list' ? plugin.items : [plugin];
      const kind = textOf(name)?.match(/(?:plugin-content-|^content-)(docs|blog|pages)$/)?.[1];
      if (kind) add(kind, textAt(options, 'id') ?? textAt(options, 'path') ?? kind, options);
    }
    const [preset] = itemsOf(at(config, 'presets'));
    const options = preset?.kind === 'list' ? preset.items[1] : undefined;
    if (preset !== undefined || config?.kind !== 'record') {
      for (const kind of Object.keys(kinds)) add(kind, kind, at(options, kind));
    }
    return [...drafts.values(), ...versions(path, reading)];
  },
};

const extensions = ['md', 'mdx'];

/** Names beginning with an underscore are parts of pages. */
const partsOfPages = (base: string): PathSet => ({ kind: 'marked', base, marks: '_' });

function pluginDraft(
  kind: string,
  name: string,
  options: Value | undefined,
  path: string,
  reading: SiteReading,
): Draft | null {
  const { usual, fields } = kinds[kind] ?? { usual: kind, fields: [] };
  return draftOf(collectionName(name), textAt(options, 'path') ?? usual, fields, path, reading);
}

function draftOf(
  name: string,
  folder: string,
  fields: SchemaField[],
  path: string,
  reading: SiteReading,
): Draft | null {
  const located = folderFiles(reading.layout.root, folder, { extensions, except: partsOfPages });
  if ('unknown' in located || !reading.paths.some(located.matches)) return null;
  const draft = declare({ name, source: { kind: 'docusaurus', path }, files: located, fields, warnings: [] }, reading);
  return {
    ...draft,
    rejects: located.base === '' ? noPaths : without({ kind: 'folder', base: located.base, extensions }, located.paths),
  };
}

/** Older versions of the docs are pages of their own. */
function versions(path: string, reading: SiteReading): Draft[] {
  const found = draftOf('versioned_docs', 'versioned_docs', docusaurusDoc, path, reading);
  return found ? [found] : [];
}

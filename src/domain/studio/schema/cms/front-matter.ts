import { findConfig, readDataConfig } from '../config/config-file.ts';
import { jsonSchemaFields } from '../config/json-schema-fields.ts';
import { declare } from '../declare.ts';
import { type Files, folderFiles, type Located, oneFile } from '../files.ts';
import { collectionName } from '../inferred-groups.ts';
import { union } from '../path-set.ts';
import type { Draft, SchemaReader, SiteReading } from '../reader.ts';
import type { SchemaField, Warning } from '../schema.schema.ts';
import { extensionOf, joinPath, markdownExtensions } from '../site-layout.ts';
import { at, isTrue, itemsOf, textAt, textsOf } from '../static/read-value.ts';
import { placeOf, type Value } from '../static/values.ts';
import { frontMatterFields } from './front-matter-fields.ts';
import { noteTo, skipped } from './notes.ts';

/** Front Matter CMS: `frontmatter.json`, whose keys are dotted names of settings. */
export const frontMatterReader: SchemaReader = {
  name: 'front_matter_cms',
  async read(reading) {
    const path = findConfig(reading, ['frontmatter'], ['json']);
    const config = path === undefined ? null : await readDataConfig(path, reading);
    if (path === undefined || config === null) return [];
    const setting = (name: string) => at(config, `frontMatter.${name}`);
    readMedia(setting('content.publicFolder'), reading);
    const { root } = reading.layout;
    return [
      ...itemsOf(setting('content.pageFolders')).flatMap((value) => readFolder(value, path, setting, reading)),
      ...itemsOf(setting('data.files')).flatMap((value) =>
        readData(value, oneFile(root, workspace(textAt(value, 'file'))), path, setting, reading),
      ),
      ...itemsOf(setting('data.folders')).flatMap((value) =>
        readData(value, dataFolder(value, root), path, setting, reading),
      ),
    ];
  },
};

type Settings = (name: string) => Value | undefined;

/** `[[workspace]]` is the directory of the configuration. */
const workspace = (path: string | undefined) => path?.replace(/^\[\[workspace\]\]/, '').replace(/^\.?\/+|\/+$/g, '');

function readMedia(value: Value | undefined, { layout }: SiteReading): void {
  const [folder = textAt(value, 'path')] = textsOf(value);
  if (folder === undefined || layout.mediaRoots !== undefined || folder.includes('..')) return;
  const path = joinPath(layout.root, workspace(folder) ?? '');
  if (path !== '') layout.mediaRoots = [{ path, public_path: textAt(value, 'relative') === undefined ? '/' : null }];
}

function readFolder(value: Value, path: string, setting: Settings, reading: SiteReading): Draft[] {
  const folder = workspace(textAt(value, 'path'));
  const name = collectionName(textAt(value, 'title') ?? folder?.split('/').at(-1) ?? 'pages').toLowerCase();
  const place = placeOf(value, { path, line: 1 });
  if (folder === undefined) return skipped(name, 'it has no path', place, reading);
  if (/[*{[]/.test(folder)) return skipped(name, 'a path with wildcards is not followed', place, reading);
  const excluded = textsOf(at(value, 'excludePaths'))
    .map((one) => one.replace(/\/+$/, ''))
    .filter(Boolean);
  const located = folderFiles(reading.layout.root, folder, {
    extensions: [...markdownExtensions],
    except: (base) =>
      union(
        { kind: 'listed', paths: excluded.map((one) => joinPath(base, one)) },
        ...excluded.map((one) => ({ kind: 'folder', base: joinPath(base, one) }) as const),
      ),
    ...(isTrue(at(value, 'excludeSubdir')) ? { depth: 1 } : {}),
  });
  if ('unknown' in located) return skipped(name, located.unknown, place, reading);
  const warnings: Warning[] = [];
  const fields = typesOf(value, path, name, setting, warnings);
  const format = textsOf(setting('taxonomy.frontMatterType'))[0]?.toLowerCase();
  const preferred = textsOf(setting('content.defaultFileType'))[0];
  const extensions = [...new Set([...(preferred ? [preferred] : []), ...markdownExtensions])];
  return [
    declare(
      {
        name,
        label: textAt(value, 'title'),
        source: { kind: 'front_matter_cms', path, line: place.line },
        files: located,
        fields,
        warnings,
        infer: fields.length === 0,
        format: format === 'toml' || format === 'json' ? format : undefined,
        extensions,
      },
      reading,
    ),
  ];
}

/** The content types of a folder; of several, a key is required when all of them require it. */
function typesOf(folder: Value, path: string, name: string, setting: Settings, warnings: Warning[]): SchemaField[] {
  const types = itemsOf(setting('taxonomy.contentTypes'));
  const wanted = textsOf(at(folder, 'contentTypes'));
  const chosen = types.filter((type) => wanted.length === 0 || wanted.includes(textAt(type, 'name') ?? ''));
  const groups = itemsOf(setting('taxonomy.fieldGroups'));
  const context = { groups, draft: setting('content.draftField'), warn: noteTo(warnings, path, name), depth: 0 };
  const read = chosen.map((type) => frontMatterFields(at(type, 'fields'), context));
  if (read.length === 1) return read[0] ?? [];
  const merged = new Map<string, SchemaField>();
  for (const one of read.flat()) {
    const known = merged.get(one.name);
    const everywhere = read.every((fields) => fields.some((other) => other.name === one.name && other.required));
    const same = known === undefined || (known.type === one.type && known.list === one.list);
    const rival: SchemaField = { name: one.name, type: 'any', required: false, list: false };
    merged.set(one.name, same ? { ...one, required: everywhere } : rival);
  }
  return [...merged.values()];
}

function dataFolder(value: Value, root: string): Located {
  const type = textAt(value, 'fileType');
  const extensions = type === 'yaml' || type === 'yml' ? ['yml', 'yaml'] : ['json'];
  return folderFiles(root, workspace(textAt(value, 'path')) ?? '', { extensions });
}

function readData(value: Value, located: Located, path: string, setting: Settings, reading: SiteReading): Draft[] {
  const name = collectionName(textAt(value, 'id') ?? textAt(value, 'title') ?? 'data');
  const place = placeOf(value, { path, line: 1 });
  if ('unknown' in located) return skipped(name, located.unknown, place, reading);
  const files: Files = located;
  const type = textAt(value, 'type');
  const shared = itemsOf(setting('data.types')).find((one) => textAt(one, 'id') === type);
  const schema = at(value, 'schema') ?? at(shared, 'schema');
  const warnings: Warning[] = [];
  const read = jsonSchemaFields(schema, noteTo(warnings, path, name));
  return [
    declare(
      {
        name,
        label: textAt(value, 'title'),
        source: { kind: 'front_matter_cms', path, line: place.line },
        files,
        fields: read?.fields ?? [],
        warnings,
        infer: read === null && !files.single,
        lenient: read === null,
        itemsInFile: files.single && !isTrue(at(value, 'singleEntry')),
        identifier: textAt(value, 'labelField'),
        ...(files.single ? { extensions: [extensionOf(files.area)] } : {}),
      },
      reading,
    ),
  ];
}

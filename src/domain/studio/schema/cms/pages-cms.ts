import { readDataConfig } from '../config/config-file.ts';
import { declare } from '../declare.ts';
import { folderFiles, oneFile } from '../files.ts';
import { union } from '../path-set.ts';
import type { Draft, SchemaReader, SiteReading } from '../reader.ts';
import type { EntryFormat, Warning } from '../schema.schema.ts';
import { extensionOf, joinPath, markdownExtensions } from '../site-layout.ts';
import { at, isFalse, isTrue, itemsOf, textAt, textsOf } from '../static/read-value.ts';
import { placeOf, type Value } from '../static/values.ts';
import { noteTo, skipped } from './notes.ts';
import { pagesFields } from './pages-cms-fields.ts';

const configPath = '.pages.yml';

/** Pages CMS: `.pages.yml` at the root of the repository, where all its paths begin. */
export const pagesCmsReader: SchemaReader = {
  name: 'pages_cms',
  async read(reading) {
    if (!reading.present.has(configPath)) return [];
    const config = await readDataConfig(configPath, reading);
    if (config === null) return [];
    readMedia(at(config, 'media'), reading);
    return readContent(itemsOf(at(config, 'content')), at(config, 'components'), reading, 0);
  },
};

const trimmed = (path: string) => path.replace(/^\.?\/+|\/+$/g, '');

function readMedia(media: Value | undefined, { layout }: SiteReading): void {
  if (media === undefined || layout.mediaRoots !== undefined) return;
  const roots = (media.kind === 'list' ? media.items : [media]).flatMap((one) => {
    const [only] = textsOf(one);
    const input = only ?? textAt(one, 'input');
    if (input === undefined || trimmed(input) === '' || input.includes('..')) return [];
    return [{ path: trimmed(input), public_path: textAt(one, 'output') ?? `/${trimmed(input)}` }];
  });
  if (roots.length > 0) layout.mediaRoots = roots;
}

/** Groups only order the menu; they may hold groups again. */
function readContent(
  values: readonly Value[],
  components: Value | undefined,
  reading: SiteReading,
  depth: number,
): Draft[] {
  return values.flatMap((value) => {
    if (textAt(value, 'type') !== 'group') return readEntry(value, components, reading);
    return depth > 10
      ? []
      : readContent(itemsOf(at(value, 'items') ?? at(value, 'content')), components, reading, depth + 1);
  });
}

const dataFormats: Record<string, EntryFormat> = { yaml: 'yaml', json: 'json', toml: 'toml' };
const formats: Record<string, EntryFormat> = { ...dataFormats, 'json-frontmatter': 'json', 'toml-frontmatter': 'toml' };

function readEntry(value: Value, components: Value | undefined, reading: SiteReading): Draft[] {
  const name = textAt(value, 'name');
  if (name === undefined) return [];
  const place = placeOf(value, { path: configPath, line: 1 });
  const format = textAt(value, 'format');
  if (format === 'raw' || format === 'code' || format === 'datagrid') {
    return skipped(name, `files of format "${format}" have no fields`, place, reading);
  }
  const path = trimmed(textAt(value, 'path') ?? '');
  const single = textAt(value, 'type') === 'file';
  const ending = extensionOf(
    (single ? path : (textAt(value, 'filename') ?? textAt(value, 'filename', 'template'))) ?? '',
  );
  const extension =
    textAt(value, 'extension')?.replace(/^\./, '') || ending || (dataFormats[format ?? ''] ? (format ?? '') : 'md');
  const excluded = textsOf(at(value, 'exclude'));
  const located = single
    ? oneFile('', path)
    : folderFiles('', path, {
        extensions: [extension],
        except: (base) =>
          union(
            { kind: 'listed', paths: excluded.map((one) => joinPath(base, one)) },
            { kind: 'named', names: excluded },
          ),
        ...(isFalse(at(value, 'subfolders')) ? { depth: 1 } : {}),
      });
  if ('unknown' in located) return skipped(name, located.unknown, place, reading);
  const warnings: Warning[] = [];
  const fields = pagesFields(itemsOf(at(value, 'fields')), {
    components,
    warn: noteTo(warnings, configPath, name),
    depth: 0,
  });
  const markdown = markdownExtensions.some((known) => known === extension);
  const itemsInFile = single && at(value, 'list') !== undefined && !isFalse(at(value, 'list'));
  return [
    declare(
      {
        name,
        label: textAt(value, 'label'),
        source: { kind: 'pages_cms', path: configPath, line: place.line },
        files: located,
        fields: markdown ? fields.filter((one) => one.name !== 'body') : fields,
        warnings,
        infer: fields.length === 0 && !single,
        lenient: fields.length === 0,
        itemsInFile,
        format: formats[format ?? ''] ?? dataFormats[extension === 'yml' ? 'yaml' : extension],
        extensions: [extension],
        identifier: textAt(value, 'view', 'primary'),
        strict: isTrue(at(value, 'strict')),
      },
      reading,
    ),
  ];
}

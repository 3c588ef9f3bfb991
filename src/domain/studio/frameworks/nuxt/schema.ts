import { nuxtPage } from '../../schema/built-in-fields.ts';
import { argumentOf, codeExtensions, findConfig, readCodeConfig } from '../../schema/config/config-file.ts';
import { declare } from '../../schema/declare.ts';
import { union } from '../../schema/path-set.ts';
import {
  type Draft,
  type Files,
  filesOf,
  globFiles,
  type Located,
  type SchemaReader,
  type SiteReading,
} from '../../schema/reader.ts';
import type { SchemaField, Warning } from '../../schema/schema.schema.ts';
import { joinPath } from '../../schema/site-layout.ts';
import type { Evaluator } from '../../schema/static/evaluate.ts';
import { at, entriesOf, type Place, placeOf, textAt, textsOf, type Value } from '../../schema/static/values.ts';
import { hasFields, mergeFields } from '../../schema/zod/field-algebra.ts';
import { Folder } from '../../schema/zod/fold.ts';
import { skipCollection, warnTo } from '../cms/field-tools.ts';

/** Nuxt Content 3: the collections of `content.config.*`. */
export const nuxtReader: SchemaReader = {
  name: 'nuxt',
  async read(reading) {
    const path = findConfig(reading, ['content.config'], codeExtensions);
    if (path === undefined) return [];
    const { value, evaluator } = await readCodeConfig(path, reading);
    const collections = at(value ?? undefined, 'collections');
    const place = { path, line: 1 };
    if (collections?.kind !== 'record' || collections.parts.some(([name]) => name === null)) {
      const reason = collections?.kind === 'unknown' ? `: ${collections.reason}` : '';
      const message = `Some collections cannot be read${reason}; they are inferred from the entries`;
      reading.warnings.push({
        code: 'schema_unknown',
        message,
        ...placeOf(collections ?? { kind: 'scalar', value: null }, place),
      });
    }
    return entriesOf(collections).flatMap(([name, one]) =>
      readCollection(name, one, placeOf(one, place), evaluator, reading),
    );
  },
};

/** One source: a pattern, or a pattern with exclusions below another directory. */
function sourceFiles(source: Value, root: string): Located {
  const repository = at(source, 'repository');
  if (repository) return { unknown: 'its files are in another repository' };
  const include = textsOf(source.kind === 'scalar' ? source : at(source, 'include'));
  if (include.length === 0) return { unknown: 'its source is not known' };
  const cwd = textAt(source, 'cwd');
  // Absolute directories are made with path.resolve, so they are rarely known.
  if (at(source, 'cwd') !== undefined && (cwd === undefined || cwd.startsWith('/')))
    return { unknown: 'its directory is not known' };
  const excluded = textsOf(at(source, 'exclude')).map((pattern) => `!${pattern}`);
  return globFiles(joinPath(root, cwd ?? 'content'), '.', [...include, ...excluded]);
}

function locate(definition: Value, root: string): Located {
  const source = at(definition, 'source');
  if (source === undefined) return { unknown: 'it has no source' };
  const all = (source.kind === 'list' ? source.items : [source]).map((one) => sourceFiles(one, root));
  const unknown = all.find((one) => 'unknown' in one);
  if (unknown) return unknown;
  const found = all.filter((one): one is Files => !('unknown' in one));
  const [first] = found;
  if (first === undefined) return { unknown: 'its source is not known' };
  const base = found.every((one) => one.base === first.base) ? first.base : root;
  const paths = union(...found.map((one) => one.paths));
  return filesOf({ base, area: found.length === 1 ? first.area : base, single: false, paths });
}

/** The collection's own directory when its pattern begins with one: slugs count from there. */
const ownBase = (files: Files): Files => (files.area === '' ? files : { ...files, base: files.area });

function readCollection(name: string, value: Value, place: Place, evaluator: Evaluator, reading: SiteReading): Draft[] {
  const definition = argumentOf(value);
  if (definition?.kind !== 'record') {
    return skipCollection(
      name,
      definition?.kind === 'unknown' ? definition.reason : 'it is no defineCollection({…})',
      place,
      reading,
    );
  }
  const located = locate(definition, reading.layout.root);
  if ('unknown' in located) return skipCollection(name, located.unknown, place, reading);
  const warnings: Warning[] = [];
  const own = schemaFields(at(definition, 'schema'), place, evaluator, warnTo(warnings, place.path, name));
  const page = textAt(definition, 'type') !== 'data';
  const built = page ? nuxtPage : [];
  return [
    declare(
      {
        name,
        source: { kind: 'nuxt', path: place.path, line: place.line },
        files: ownBase(located),
        fields: own ? mergeFields(built, own) : built,
        warnings,
        kind: page ? 'page' : 'data',
        infer: own === null,
        identifier: page ? 'title' : undefined,
        indexNames: ['index'],
      },
      reading,
    ),
  ];
}

function schemaFields(
  schema: Value | undefined,
  place: Place,
  evaluator: Evaluator,
  warn: ReturnType<typeof warnTo>,
): SchemaField[] | null {
  if (schema === undefined) return null;
  // `property(schema)` only adds settings of an editor.
  const folder: Folder = new Folder(
    evaluator,
    (callee, args, fold, at) =>
      callee.kind === 'external' && callee.name === 'property' ? fold.fold(args[0], at) : null,
    (message, at) => warn('schema_unknown', message, at),
  );
  const folded = folder.fold(schema, place);
  return hasFields(folded) ? folded.fields : null;
}

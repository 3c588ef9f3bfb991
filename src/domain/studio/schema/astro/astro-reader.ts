import { type Declaration, declare } from '../declare.ts';
import { type Files, filesOf, type Located } from '../files.ts';
import { isWrapper } from '../inferred-groups.ts';
import { noPaths, without } from '../path-set.ts';
import type { Draft, SchemaReader, SiteReading } from '../reader.ts';
import type { SchemaField, Warning } from '../schema.schema.ts';
import { below, joinPath } from '../site-layout.ts';
import { Evaluator } from '../static/evaluate.ts';
import { loadModules } from '../static/module-graph.ts';
import { type Place, placeOf, property, type RecordValue, type Value } from '../static/values.ts';
import { Folder } from '../zod/fold.ts';
import { readLocales } from './astro-locales.ts';
import { astroCall, resolveSchema, topFields } from './astro-schema.ts';
import { legacyFiles, locateFiles } from './loaders.ts';

const extensions = ['ts', 'js', 'mjs', 'mts'];
const configNames = ['src/content.config', 'src/content/config'].flatMap((name) =>
  extensions.map((end) => `${name}.${end}`),
);

/** Content collections of Astro: `src/content.config.*`, or `src/content/config.*` of older sites. */
export const astroReader: SchemaReader = {
  name: 'astro',
  async read(reading) {
    const { site, present, layout, warnings, dependencies } = reading;
    const path = configNames.map((name) => joinPath(layout.root, name)).find((name) => present.has(name));
    if (layout.framework === 'astro' && layout.locales === null) layout.locales = await readLocales(reading);
    if (path === undefined) return [];
    const graph = await loadModules(path, site, warnings, dependencies);
    for (const file of graph.keys()) dependencies.add(file);
    const evaluator = new Evaluator(graph);
    const collections = evaluator.export(path, 'collections');
    if (collections?.kind !== 'record') {
      const reason = collections?.kind === 'unknown' ? collections.reason : 'it exports no object "collections"';
      const { line } = placeOf(collections ?? { kind: 'scalar', value: null }, { path, line: 1 });
      const message = `The collections cannot be read: ${reason}; they are inferred from the entries`;
      warnings.push({ code: 'schema_unknown', message, path, line });
      return [];
    }
    return readCollections(collections, reading, evaluator);
  },
};

function readCollections(collections: RecordValue, reading: SiteReading, evaluator: Evaluator): Draft[] {
  const drafts = new Map<string, Draft>();
  for (const [name, value] of collections.parts) {
    const place = placeOf(value, collections.place);
    if (name === null) {
      const message = 'Some collections cannot be read; they are inferred from the entries';
      reading.warnings.push({ code: 'schema_unknown', message, path: place.path, line: place.line });
    } else drafts.set(name, readCollection(name, value, place, reading, evaluator));
  }
  return [...drafts.values()];
}

const isDefinition = (value: Value): value is Extract<Value, { kind: 'call' }> =>
  value.kind === 'call' && value.callee.kind === 'external' && value.callee.name === 'defineCollection';

function readCollection(name: string, value: Value, place: Place, reading: SiteReading, evaluator: Evaluator): Draft {
  const warnings: Warning[] = [];
  const warn = (code: string, message: string, at: Place) =>
    warnings.push({ code, message, path: at.path, line: at.line, collection: name });
  const definition = isDefinition(value) && value.args[0]?.kind === 'record' ? value.args[0] : null;
  if (definition === null) {
    const reason = value.kind === 'unknown' ? value.reason : 'it is no defineCollection({…})';
    warn('schema_unknown', `The collection cannot be read: ${reason}; its schema is inferred from the entries`, place);
  }
  const located: Located = definition
    ? locateFiles(definition, name, reading.layout.root)
    : legacyFiles(reading.layout.root, name, 'any');
  const files = settle(located, name, reading, (message) => warn('loader_unknown', message, place));
  const fields =
    definition && readFields(definition, evaluator, place, (message, at) => warn('schema_unknown', message, at));
  return draftOf(name, place, files, fields, warnings, reading);
}

/** An unknown loader leaves Astro's usual directory, if it exists; else the collection has no files here. */
function settle(
  located: Located,
  name: string,
  { paths, layout }: SiteReading,
  warn: (message: string) => void,
): Files {
  if (!('unknown' in located)) return located;
  const usual = legacyFiles(layout.root, name, 'any');
  if (paths.some(usual.matches)) {
    warn(`The loader cannot be read: ${located.unknown}; the files of ${usual.base} are taken`);
    return usual;
  }
  warn(`The loader cannot be read: ${located.unknown}; the collection has no files in the repository`);
  return filesOf({ ...usual, paths: noPaths });
}

interface Read {
  fields: SchemaField[];
  strict: boolean;
}

function readFields(
  definition: RecordValue,
  evaluator: Evaluator,
  place: Place,
  warn: (message: string, at: Place) => void,
): Read | null {
  const schema = property(definition, 'schema');
  if (schema === undefined) return null;
  const seen = new Set<string>();
  const folder = new Folder(evaluator, astroCall, (message, at) => {
    const once = `${at.path}:${at.line}:${message}`;
    if (!seen.has(once) && seen.size < 100) warn(message, at);
    seen.add(once);
  });
  // `schema: docsSchema` without a call is a function of the context as well.
  const folded = folder.fold(resolveSchema(schema, folder, place), place);
  const fields = topFields(folded);
  if (fields === null)
    warn('The schema is not an object whose keys are known; it is inferred from the entries', placeOf(schema, place));
  return fields && { fields, strict: folded.strict === true };
}

function draftOf(
  name: string,
  place: Place,
  files: Files,
  read: Read | null,
  warnings: Warning[],
  reading: SiteReading,
): Draft {
  const area = below(reading.layout.root, files.area) ?? '';
  const declaration: Declaration = {
    name,
    source: { kind: 'astro', path: place.path, line: place.line },
    files,
    fields: read?.fields ?? [],
    warnings,
    infer: read === null && !files.single,
    lenient: read === null,
    strict: read?.strict ?? false,
    itemsInFile: files.single,
    indexNames: ['index'],
    rejects: isWrapper(area) || files.single ? noPaths : without({ kind: 'folder', base: files.area }, files.paths),
  };
  return declare(declaration, reading);
}

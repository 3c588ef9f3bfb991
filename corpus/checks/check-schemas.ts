import { buildSite } from '../../src/domain/studio/content/site-index.ts';
import { referencesIn } from '../../src/domain/studio/entries/validate.ts';
import { parseFile } from '../../src/domain/studio/frontmatter/parse-file.ts';
import { discoverSchemas } from '../../src/domain/studio/schema/discover.ts';
import { validateEntry } from '../../src/domain/studio/schema/validate.ts';
import type { CollectionReport, SourceReport } from '../report.ts';
import { textReader } from '../sources/read-text.ts';
import type { ListedFile, Source } from '../sources/source.ts';

/** The collections of a source: what was read or inferred of each, and how many of its entries hold to it. */
export async function checkSchemas(
  source: Source,
  signal: AbortSignal,
): Promise<{ schema: SourceReport['schema']; owns(path: string): boolean }> {
  const files = new Map(source.files.map((file) => [file.path, file]));
  const frontmatterOf = async (path: string) => {
    signal.throwIfAborted();
    const file = files.get(path);
    const bytes = file && (await source.read(file));
    return bytes ? parseFile(bytes, path).frontmatter : null;
  };
  const sampleEntries = (paths: readonly string[]) =>
    Promise.all(paths.map(async (path) => ({ path, frontmatter: await frontmatterOf(path) })));
  const discovery = await discoverSchemas({ paths: [...source.files], read: textReader(source) }, { sampleEntries });
  const site = await buildSite(discovery, '', source.files.map(asRegular));
  const references = referencesIn(site);
  const collections: CollectionReport[] = [];
  for (const { schema, entries } of site.collections.values()) {
    let valid = 0;
    for (const { path } of entries) {
      const frontmatter = await frontmatterOf(path);
      if (frontmatter && (await validateEntry(schema, frontmatter, { references })).errors.length === 0) valid++;
    }
    const { collection, path, inferred } = schema;
    const about = { collection, path, inferred, source: `${schema.source.kind} ${schema.source.path}`.trim() };
    collections.push({ ...about, fields: schema.fields.length, entries: entries.length, valid });
  }
  const owns = (path: string) => discovery.schemas.some((schema) => schema.matches(path));
  return { schema: { collections, warnings: discovery.warnings.length }, owns };
}

const asRegular = (file: ListedFile) => ({ ...file, mode: '100644' });

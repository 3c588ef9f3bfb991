import { parse as parseToml, TomlDate } from 'smol-toml';
import { parseDocument } from 'yaml';
import type { Frontmatter } from '../../src/domain/studio/frontmatter/values.ts';
import type { Block } from './block.ts';

/**
 * What a format's own library makes of a source text, without a line of the engine.
 * @throws Error when it cannot be read
 */
export function readBlock(source: string, format: Block['format']): Frontmatter {
  if (format === 'json') return source.trim() === '' ? {} : (JSON.parse(source) as Frontmatter);
  if (format === 'toml') return plain(parseToml(source, { integersAsBigInt: 'asNeeded' })) as Frontmatter;
  const document = yamlDocument(source);
  if (document.errors[0] !== undefined) throw document.errors[0];
  return plain(document.toJS({ maxAliasCount: -1, mapAsMap: true }) ?? {}) as Frontmatter;
}

/** The document by the rules of the core schema, with merge keys; what other tags stand for has no place in JSON. */
export function yamlDocument(source: string) {
  return parseDocument(source, {
    version: '1.2',
    merge: true,
    resolveKnownTags: false,
    logLevel: 'silent',
  });
}

/** Dates become what they look like, maps and tables ordinary objects whose names are texts. */
function plain(value: unknown): unknown {
  if (value instanceof TomlDate) return value.toISOString().replace(/\.000(?=$|[Zz+-])/, '');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, member]) => [String(key), plain(member)]));
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

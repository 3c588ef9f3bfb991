import { codeExtensions, findConfig, readCodeConfig } from '../config/config-file.ts';
import type { SchemaReader, SiteReading } from '../reader.ts';
import type { SchemaField, SchemaSourceKind } from '../schema.schema.ts';
import { joinPath } from '../site-layout.ts';
import { at, entriesOf, textAt } from '../static/read-value.ts';
import { eleventyPage, vitepressPage } from './built-in-fields.ts';

/**
 * Frameworks without collections: their pages are grouped by directory, as anywhere, and every group has the fields the framework
 * understands beside what its entries show.
 */
const describePages = ({ layout }: SiteReading, kind: SchemaSourceKind, path: string, fields: SchemaField[]): [] => {
  layout.pages = { kind, path, fields };
  return [];
};

export const vitepressReader: SchemaReader = {
  name: 'vitepress',
  async read(reading) {
    const path = findConfig(reading, ['.vitepress/config', '.vitepress/config/index'], codeExtensions);
    if (path === undefined) return [];
    const { layout } = reading;
    // What is unclear in this file concerns the site, not its schemas.
    const { value } = await readCodeConfig(path, { ...reading, warnings: [] });
    const config = value ?? undefined;
    const names = entriesOf(at(config, 'locales')).map(([name]) => name);
    if (layout.locales === null && names.length > 1) {
      const fallback = textAt(config, 'locales', 'root', 'lang') ?? (names.includes('root') ? 'root' : null);
      const codes = names.map((name) => (name === 'root' ? (fallback ?? name) : name));
      layout.locales = { codes, default: fallback, placement: 'directory', default_unmarked: names.includes('root') };
    }
    return describePages(reading, 'vitepress', path, vitepressPage);
  },
};

const eleventyNames = [
  '.eleventy.js',
  '.eleventy.cjs',
  'eleventy.config.js',
  'eleventy.config.mjs',
  'eleventy.config.cjs',
  'eleventy.config.ts',
];

export const eleventyReader: SchemaReader = {
  name: 'eleventy',
  async read(reading) {
    const path = eleventyNames
      .map((name) => joinPath(reading.layout.root, name))
      .find((name) => reading.present.has(name));
    // The configuration is a function; nothing the schemas need is in it.
    return path === undefined ? [] : describePages(reading, 'eleventy', path, eleventyPage);
  },
};

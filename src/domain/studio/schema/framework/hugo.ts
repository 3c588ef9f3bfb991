import { parseFile } from '../../frontmatter/parse-file.ts';
import { declare } from '../declare.ts';
import { filesOf, folderFiles } from '../files.ts';
import { collectionName } from '../inferred-groups.ts';
import { noPaths } from '../path-set.ts';
import type { Draft, SchemaReader, SiteReading } from '../reader.ts';
import type { SchemaField } from '../schema.schema.ts';
import { below, joinPath, markdownExtensions } from '../site-layout.ts';
import { dataOf } from '../static/read-value.ts';
import { fromPlain, type Value } from '../static/values.ts';
import { field, listOf } from '../zod/field-algebra.ts';
import { hugoPage } from './built-in-fields.ts';
import { readArchetypes } from './hugo-archetypes.ts';
import { cascadeValues, type HugoSite, readHugoSite } from './hugo-config.ts';

const MAX_SECTIONS = 200;

/**
 * Hugo: each section of the content is a collection, its fields those Hugo knows, the site's taxonomies, those of the section's
 * archetype, and what the entries show. Hugo accepts any page, so faults only warn.
 */
export const hugoReader: SchemaReader = {
  name: 'hugo',
  async read(reading) {
    if (reading.layout.framework !== 'hugo') return [];
    const site = await readHugoSite(reading);
    if (site === null) return [];
    reading.layout.locales ??= site.locales;
    const archetypes = await readArchetypes(reading, site.archetypes);
    const drafts: Draft[] = [];
    for (const { directory, language } of site.contents) {
      const base = joinPath(reading.layout.root, directory);
      const plain = language === null || language === site.contents[0]?.language;
      for (const section of sectionsOf(base, site, reading)) {
        const name = collectionName(section === '' ? 'pages' : section);
        const full = plain ? name : `${name}.${collectionName(language)}`;
        if (drafts.length < MAX_SECTIONS)
          drafts.push(await readSection(full, base, section, site, archetypes, reading));
      }
    }
    return drafts;
  },
};

/** Directories directly below the content, and `''` for the pages beside them; content directories of other languages are not sections. */
function sectionsOf(base: string, site: HugoSite, { paths, layout }: SiteReading): string[] {
  const languages = new Set(site.contents.map((one) => joinPath(layout.root, one.directory)));
  const found = new Set<string>();
  for (const path of paths) {
    const rest = below(base, path);
    if (rest === null || !/\.(md|markdown|mdown|html?|json|toml|ya?ml)$/i.test(rest)) continue;
    const slash = rest.indexOf('/');
    const section = slash === -1 ? '' : rest.slice(0, slash);
    if ((slash !== -1 || /\.(md|markdown)$/i.test(rest)) && !(section !== '' && languages.has(joinPath(base, section))))
      found.add(section);
  }
  return [...found].sort();
}

async function readSection(
  name: string,
  base: string,
  section: string,
  site: HugoSite,
  archetypes: ReadonlyMap<string, SchemaField[]>,
  reading: SiteReading,
): Promise<Draft> {
  const located = folderFiles('', joinPath(base, section), {
    extensions: [...markdownExtensions],
    ...(section === '' ? { depth: 1 } : {}),
  });
  const files = 'unknown' in located ? filesOf({ base, area: base, single: false, paths: noPaths }) : located;
  const own = await sectionCascade(joinPath(base, section, '_index.md'), reading);
  const defaults = new Map([...cascadeValues(site.cascade), ...own]);
  const fields = new Map(hugoPage.map((one) => [one.name, one]));
  const words = listOf(field('string', { coerce: true })) ?? field('any', { list: true });
  for (const taxonomy of site.taxonomies)
    fields.set(taxonomy, { ...words, name: taxonomy, required: false, nullable: true });
  for (const one of archetypes.get(section) ?? archetypes.get('default') ?? []) {
    const known = fields.get(one.name);
    fields.set(one.name, known ? { ...known, ...(one.default === undefined ? {} : { default: one.default }) } : one);
  }
  for (const [key, value] of defaults) {
    const data = dataOf(value);
    const known = fields.get(key) ?? { ...field('any'), name: key, required: false };
    if (data !== undefined) fields.set(key, { ...known, default: data });
  }
  const source = { kind: 'hugo', path: site.path } as const;
  return declare(
    {
      name,
      source,
      files,
      fields: [...fields.values()],
      warnings: [],
      infer: true,
      extensions: markdownExtensions,
      indexNames: ['index', '_index'],
    },
    reading,
  );
}

/** The `cascade` of a section's own page. */
async function sectionCascade(path: string, { present, site, dependencies }: SiteReading): Promise<[string, Value][]> {
  if (!present.has(path)) return [];
  dependencies.add(path);
  const text = await site.read(path);
  const { frontmatter } = parseFile(Buffer.from(text ?? ''), path);
  const cascade = frontmatter?.cascade;
  return cascade === undefined ? [] : cascadeValues(fromPlain(cascade, { path, line: 1 }));
}

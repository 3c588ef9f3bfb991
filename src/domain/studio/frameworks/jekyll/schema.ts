import { jekyllPage, jekyllPost } from '../../schema/built-in-fields.ts';
import { findConfig, readDataConfig } from '../../schema/config/config-file.ts';
import { besidePages, declare } from '../../schema/declare.ts';
import { membership, type PathSet, union, without } from '../../schema/path-set.ts';
import {
  type Draft,
  type Files,
  filesOf,
  folderFiles,
  type SchemaReader,
  type SiteReading,
} from '../../schema/reader.ts';
import type { SchemaField } from '../../schema/schema.schema.ts';
import { below, joinPath } from '../../schema/site-layout.ts';
import { at, dataOf, entriesOf, itemsOf, placeOf, textAt, textsOf, type Value } from '../../schema/static/values.ts';
import { field } from '../../schema/zod/field-algebra.ts';

const markdown = ['md', 'markdown', 'mkdown', 'mkdn', 'mkd'];
/** Parts of pages and the built site. */
const internal = union(
  ...['_includes', '_layouts', '_sass', '_site', '_plugins'].map(
    (directory): PathSet => ({ kind: 'inside', directory }),
  ),
);

/** Jekyll: posts, drafts, data and the collections of `_config.yml`; its `defaults` are the fields' defaults. */
export const jekyllReader: SchemaReader = {
  name: 'jekyll',
  async read(reading) {
    if (reading.layout.framework !== 'jekyll') return [];
    const path = findConfig(reading, ['_config'], ['yml', 'yaml']);
    const config = path === undefined ? null : await readDataConfig(path, reading);
    if (path === undefined) return [];
    const site = new JekyllSite(config ?? { kind: 'scalar', value: null }, path, reading);
    return [...site.declared(), ...site.posts(), ...(await site.data()), ...(await site.includes())];
  },
};

class JekyllSite {
  private readonly root: string;
  private readonly config: Value;
  private readonly path: string;
  private readonly reading: SiteReading;

  constructor(config: Value, path: string, reading: SiteReading) {
    this.config = config;
    this.path = path;
    this.reading = reading;
    const source = textAt(config, 'source') ?? '';
    this.root = joinPath(reading.layout.root, source.includes('..') ? '' : source.replace(/^\.?\/*|(?<!\/)\/+$/g, ''));
  }

  /** Collections are a list of names, or a map of names and settings. */
  declared(): Draft[] {
    const collections = at(this.config, 'collections');
    const named = [
      ...entriesOf(collections),
      ...(collections?.kind === 'list' ? collections.items : []).flatMap((one): [string, Value][] => {
        const [text] = textsOf(one);
        return text === undefined ? entriesOf(one) : [[text, one]];
      }),
    ];
    const within = textAt(this.config, 'collections_dir') ?? '';
    return named.flatMap(([name, value]) => {
      if (name === 'posts' || name === 'drafts') return [];
      const files = folderFiles(this.root, joinPath(within, `_${name}`), {
        extensions: [...markdown, 'yml', 'yaml', 'json'],
      });
      const { line } = placeOf(value, { path: this.path, line: 1 });
      return 'unknown' in files ? [] : [this.draft(name, files, jekyllPage, line)];
    });
  }

  /** Posts may lie in any directory; only those with a date in their name are published. */
  posts(): Draft[] {
    const { paths } = this.reading;
    const made = ['posts', 'drafts'].flatMap((name): Draft[] => {
      const folder = `_${name}`;
      const all = (base: string): PathSet => ({
        kind: 'intersection',
        of: [
          { kind: 'folder', base, extensions: markdown },
          { kind: 'inside', directory: folder },
          ...(name === 'drafts' ? [] : [{ kind: 'dated' } as const]),
        ],
      });
      const inside = paths.filter(membership(all(this.root)));
      const parts = inside.map((path) => `/${path}`.indexOf(`/${folder}/`));
      const homes = new Set(inside.map((path, index) => path.slice(0, (parts[index] ?? 0) + folder.length)));
      if (homes.size === 0) homes.add(joinPath(this.root, folder));
      const [only = ''] = homes;
      const base = homes.size === 1 ? only : this.root;
      const files = filesOf({ base, area: base, single: false, paths: without(all(base), internal) });
      // Of several directories the one at the top is that of posts without a category.
      const home = joinPath(this.root, folder);
      const place = below(base, homes.has(home) ? home : only);
      return inside.length === 0 && name === 'drafts' ? [] : [this.draft(name, files, jekyllPost, undefined, place)];
    });
    const [posts] = made;
    if (posts) posts.rejects = internal;
    return made;
  }

  /** Every file of `_data` has a shape of its own. */
  data(): Promise<Draft[]> {
    const folder = textAt(this.config, 'data_dir') ?? '_data';
    const files = folderFiles(this.root, folder, { extensions: ['yml', 'yaml', 'json'] });
    return besidePages('data', { name: 'data', source: { kind: 'jekyll', path: this.path }, files }, this.reading);
  }

  /** Pieces in Markdown that pages include. */
  includes(): Promise<Draft[]> {
    const files = folderFiles(this.root, textAt(this.config, 'includes_dir') ?? '_includes', { extensions: markdown });
    const source = { kind: 'jekyll', path: this.path } as const;
    return besidePages('partial', { name: 'includes', source, files }, this.reading);
  }

  /** @param place where new posts come, below the collection's directory; null: directly in it */
  private draft(
    name: string,
    files: Files,
    fields: readonly SchemaField[],
    line: number | undefined,
    place: string | null = null,
  ): Draft {
    const source = { kind: 'jekyll', path: this.path, ...(line === undefined ? {} : { line }) } as const;
    const defaults = this.defaultsOf(name, below(this.root, files.base) ?? '');
    const known = new Set(fields.map((one) => one.name));
    const more = [...defaults.keys()]
      .filter((key) => !known.has(key))
      .map((key) => ({ ...field('any'), name: key, required: false }));
    const withDefaults = [...fields, ...more].map((one) =>
      defaults.has(one.name) ? { ...one, default: defaults.get(one.name) } : one,
    );
    return declare(
      {
        name,
        source,
        files,
        fields: withDefaults,
        warnings: [],
        infer: true,
        indexNames: ['index'],
        // A post without a date in its name is not published.
        ...(name === 'posts' && { template: { slug: joinPath(place ?? '', '{{year}}-{{month}}-{{day}}-{{slug}}') } }),
      },
      this.reading,
    );
  }

  /** Values of the scopes that hold for the whole collection; what is said later, for a deeper path, wins. */
  private defaultsOf(name: string, directory: string): Map<string, unknown> {
    const scopes = itemsOf(at(this.config, 'defaults')).flatMap((one) => {
      const path = (textAt(one, 'scope', 'path') ?? '').replace(/^\/+|(?<!\/)\/+$/g, '');
      const type = textAt(one, 'scope', 'type');
      const fits =
        (type === undefined || type === name) && !path.includes('*') && below(path, `${directory}/`) !== null;
      return fits ? [{ depth: path.length, values: entriesOf(at(one, 'values')) }] : [];
    });
    scopes.sort((a, b) => a.depth - b.depth);
    return new Map(
      scopes
        .flatMap(({ values }) => values.map(([key, value]) => [key, dataOf(value)] as const))
        .filter(([, value]) => value !== undefined),
    );
  }
}

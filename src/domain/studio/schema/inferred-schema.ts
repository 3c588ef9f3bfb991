import type { Group } from './inferred-groups.ts';
import { membership, noPaths, without } from './path-set.ts';
import type { Draft } from './reader.ts';
import type { EntryFormat } from './schema.schema.ts';
import { dataExtensions, indexNames, type SiteLayout } from './site-layout.ts';

/** `_blog-posts` → `Blog posts`. */
export function humanize(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_.-]+/g, ' ')
    .trim()
    .toLowerCase();
  return words === '' ? name : words.charAt(0).toUpperCase() + words.slice(1);
}

/** Language of an entry by its extension: data files their own, Markdown YAML. */
export function formatOf(extension: string | undefined): EntryFormat {
  return extension === 'json' || extension === 'toml' ? extension : 'yaml';
}

/** The collection of a group of files that lie together; its fields are inferred later. */
export function schemaOfGroup(group: Group, layout: SiteLayout, declared: readonly Draft[]): Draft {
  const { directory: base, extensions, shallow } = group;
  const rejected = declared.map((draft) => draft.rejects).filter((set) => set !== noPaths);
  const paths = without(
    { kind: 'folder', base, extensions, ...(shallow && { depth: 1 }) },
    { kind: 'excluded', root: layout.root, given: layout.given },
    ...rejected,
  );
  const names = indexNames(layout.framework);
  const data = dataExtensions.some((extension) => extension === group.extensions[0]);
  const pages = data ? undefined : layout.pages;
  return {
    infer: true,
    rejects: noPaths,
    schema: {
      collection: group.name,
      label: humanize(group.name),
      path: group.directory,
      format: formatOf(group.extensions[0]),
      extensions: group.extensions,
      source: pages ? { kind: pages.kind, path: pages.path } : { kind: 'inference', path: group.directory },
      inferred: true,
      fields: [...(pages?.fields ?? [])],
      warnings: [],
      strict: false,
      items_in_file: false,
      slugs: { extensions: group.extensions, index_names: data ? [] : names, locales: layout.locales },
      paths,
      matches: membership(paths),
    },
  };
}

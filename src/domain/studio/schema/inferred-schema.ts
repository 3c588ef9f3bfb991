import type { Group } from './inferred-groups.ts';
import type { Draft } from './reader.ts';
import type { EntryFormat } from './schema.schema.ts';
import { below, dataExtensions, extensionOf, indexNames, isExcluded, type SiteLayout } from './site-layout.ts';

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
  const extensions = new Set(group.extensions);
  const matches = (path: string) => {
    const rest = below(group.directory, path);
    if (rest === null || !extensions.has(extensionOf(path)) || isExcluded(path, layout)) return false;
    return !(group.shallow && rest.includes('/')) && !declared.some((draft) => draft.rejects(path));
  };
  const names = indexNames(layout.framework);
  const data = dataExtensions.some((extension) => extension === group.extensions[0]);
  const pages = data ? undefined : layout.pages;
  return {
    infer: true,
    rejects: () => false,
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
      matches,
    },
  };
}

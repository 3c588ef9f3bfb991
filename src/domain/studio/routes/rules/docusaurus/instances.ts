import { at, isFalse, itemsOf } from '../../../schema/static/read-value.ts';
import { textOf, type Value } from '../../../schema/static/values.ts';
import type { Settings } from '../settings.ts';

export type ContentKind = 'docs' | 'blog' | 'pages';

/** One instance of a content plug-in. */
export interface Instance {
  kind: ContentKind;
  id: string;
  /** Directory, relative to the site. */
  path: string;
  /** Without slashes at its ends. */
  route: string;
  options: Value | undefined;
}

const usual: Record<ContentKind, { path: string; route: string }> = {
  docs: { path: 'docs', route: 'docs' },
  blog: { path: 'blog', route: 'blog' },
  pages: { path: 'src/pages', route: '' },
};
const kinds = ['docs', 'blog', 'pages'] as const;
const clean = (path: string) => path.replace(/^(\.?\/)+|\/+$/g, '');

function instance(kind: ContentKind, options: Value | undefined, settings: Settings): Instance {
  const text = (name: string) => {
    const value = at(options, name);
    const found = textOf(value);
    if (value !== undefined && found === undefined && value.kind !== 'scalar') settings.warn(`${kind}.${name}`, value);
    return found;
  };
  return {
    kind,
    id: text('id') ?? 'default',
    path: clean(text('path') ?? usual[kind].path),
    route: clean(text('routeBasePath') ?? usual[kind].route),
    options,
  };
}

/** The instances of presets and plug-ins; the classic preset has one of each kind unless it is switched off. */
export function instancesOf(settings: Settings): Instance[] {
  const found: Instance[] = [];
  const presets = settings.items('presets');
  for (const preset of presets) {
    const options = preset.kind === 'list' ? preset.items[1] : undefined;
    for (const kind of kinds) {
      const own = at(options, kind);
      if (!(own && isFalse(own))) found.push(instance(kind, own, settings));
    }
  }
  for (const plugin of settings.items('plugins')) {
    const [name, options] = plugin.kind === 'list' ? itemsOf(plugin) : [plugin, undefined];
    const kind = textOf(name)?.match(/(?:^|plugin-)content-(docs|blog|pages)$/)?.[1] as ContentKind | undefined;
    if (kind) found.push(instance(kind, options, settings));
  }
  return found.length > 0 || presets.length > 0 ? found : kinds.map((kind) => instance(kind, undefined, settings));
}

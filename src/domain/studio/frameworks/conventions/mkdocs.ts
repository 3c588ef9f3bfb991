import { readDataConfig } from '../../schema/config/config-file.ts';
import { below, joinPath } from '../../schema/site-layout.ts';
import { textOf } from '../../schema/static/values.ts';
import { basePath, directoryOf, nameOf, urlPath, withoutExtension } from '../routing/paths.ts';
import type { RouteContext, RouteRule } from '../routing/route-rule.ts';
import { Settings } from '../routing/settings.ts';
import { byConvention } from './convention.ts';

const moving = new Set(['i18n', 'blog', 'redirects', 'monorepo', 'multirepo']);

/** MkDocs: the path below `docs_dir`, a directory for each page unless `use_directory_urls` is off. */
export async function readMkdocsRule(reading: RouteContext): Promise<RouteRule> {
  const { config } = reading.detected;
  const value = config === null ? null : await readDataConfig(config, reading);
  const settings = new Settings(value, config ?? reading.layout.root, reading);
  const docs = joinPath(reading.layout.root, (settings.text('docs_dir') ?? 'docs').replace(/^(\.?\/)+|\/+$/g, ''));
  const directories = settings.flag('use_directory_urls') ?? true;
  for (const plugin of settings.items('plugins')) {
    const name = textOf(plugin) ?? (plugin.kind === 'record' ? plugin.parts[0]?.[0] : undefined);
    if (name != null && moving.has(name)) settings.warn(`plugins.${name}`);
  }
  return byConvention(settings, basePath(settings.text('site_url')), ({ path }) => {
    const rest = below(docs, path);
    if (rest === null || !/\.(md|markdown|mdown|mkdn|mkd)$/i.test(rest) || /(^|\/)\./.test(rest)) return null;
    const stem = withoutExtension(rest);
    if (/^(index|readme)$/i.test(nameOf(stem))) return urlPath(directoryOf(rest), '/');
    return directories ? urlPath(stem, '/') : urlPath(`${stem}.html`);
  });
}

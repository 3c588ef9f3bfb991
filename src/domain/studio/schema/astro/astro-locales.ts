import type { LocaleRules } from '../../slug.ts';
import type { SiteReading } from '../reader.ts';
import { joinPath } from '../site-layout.ts';
import { Evaluator } from '../static/evaluate.ts';
import { loadModules } from '../static/module-graph.ts';
import { property, textOf, type Value } from '../static/values.ts';

const argument = (value: Value | undefined): Value | undefined => (value?.kind === 'call' ? value.args[0] : undefined);
const key = (value: Value | undefined, name: string) => (value?.kind === 'record' ? property(value, name) : undefined);

/** Keys of Starlight's `locales`; the key `root` is the default locale, whose pages lie in no directory. */
function starlightLocales(options: Value | undefined): LocaleRules | null {
  const locales = key(options, 'locales');
  if (locales?.kind !== 'record') return null;
  const names = locales.parts.flatMap(([name]) => (name === null ? [] : [name]));
  const rootLanguage = names.includes('root') ? (textOf(key(property(locales, 'root'), 'lang')) ?? 'en') : null;
  const fallback = rootLanguage ?? textOf(key(options, 'defaultLocale')) ?? null;
  const codes = names.map((name) => (name === 'root' && rootLanguage !== null ? rootLanguage : name));
  return { codes, default: fallback, placement: 'directory', default_unmarked: rootLanguage !== null };
}

/** `i18n.locales` of Astro: codes, or `{path, codes}`. */
function astroLocales(i18n: Value | undefined): LocaleRules | null {
  const locales = key(i18n, 'locales');
  if (locales?.kind !== 'list') return null;
  const codes = locales.items
    .map((item) => textOf(item) ?? textOf(key(item, 'path')))
    .filter((code) => code !== undefined);
  const fallback = textOf(key(i18n, 'defaultLocale')) ?? null;
  return codes.length === 0 ? null : { codes, default: fallback, placement: 'directory', default_unmarked: false };
}

/** The languages that `astro.config.*` declares, of Starlight before Astro's own; null when it declares none that can be read. */
export async function readLocales({ site, present, layout, dependencies }: SiteReading): Promise<LocaleRules | null> {
  const names = ['mjs', 'js', 'ts', 'mts', 'cjs'].map((extension) =>
    joinPath(layout.root, `astro.config.${extension}`),
  );
  const path = names.find((name) => present.has(name));
  if (path === undefined) return null;
  // What is unclear in this file concerns the site, not its schemas: only the languages are wanted here.
  const graph = await loadModules(path, site, [], dependencies);
  for (const file of graph.keys()) dependencies.add(file);
  const config = new Evaluator(graph).export(path, 'default');
  const options = config?.kind === 'record' ? config : argument(config ?? undefined);
  const integrations = key(options, 'integrations');
  for (const item of integrations?.kind === 'list' ? integrations.items : []) {
    const starlight =
      item.kind === 'call' && item.callee.kind === 'external' && item.callee.module === '@astrojs/starlight';
    const found = starlight ? starlightLocales(item.args[0]) : null;
    if (found) return found;
  }
  return astroLocales(key(options, 'i18n'));
}

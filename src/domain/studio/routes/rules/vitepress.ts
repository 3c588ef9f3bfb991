import { codeExtensions, findConfig, readCodeConfig } from '../../schema/config/config-file.ts';
import { compileGlob } from '../../schema/glob.ts';
import { below, joinPath } from '../../schema/site-layout.ts';
import { textOf } from '../../schema/static/values.ts';
import { basePath, urlPath } from './paths.ts';
import { rewriter } from './rewrites.ts';
import { lessUnknown, type RouteReading, type RouteRule } from './rule.ts';
import { Settings } from './settings.ts';

/** VitePress: the path below `srcDir` after its rewrites, `.html` unless addresses are clean. */
export async function readVitepressRule(reading: RouteReading): Promise<RouteRule> {
  const path = findConfig(reading, ['.vitepress/config', '.vitepress/config/index'], codeExtensions);
  const read = path === undefined ? null : await readCodeConfig(path, reading);
  const settings = new Settings(read?.value, path ?? reading.layout.root, reading);
  const clean = settings.flag('cleanUrls') ?? false;
  const source = (settings.text('srcDir') ?? '').replace(/^\.?\/*|\/+$/g, '');
  const directory = joinPath(reading.layout.root, source.includes('..') ? '' : source);
  const excluded = settings.texts('srcExclude').map((pattern) => compileGlob(pattern.replace(/^\/+/, '')));
  if (excluded.includes(null)) settings.warn('srcExclude');
  const rewrites = settings.at('rewrites');
  if (rewrites !== undefined && rewrites.kind !== 'record') settings.warn('rewrites', rewrites);
  const rules = settings.entries('rewrites').map(([from, to]) => [from, textOf(to)] as const);
  const rewrite = rewriter(rules, () => settings.warn('rewrites'));
  return {
    base: basePath(settings.text('base')),
    urlOf(file) {
      const rest = below(directory, file.path);
      if (rest === null || !rest.endsWith('.md') || /\[\w+\]/.test(rest)) return null;
      if (rest.split('/').some((part) => part.startsWith('.') || part === 'node_modules')) return null;
      if (excluded.some((glob) => glob?.matches(rest))) return null;
      const target = rewrite(rest).replace(/\.md$/, '');
      if (target === 'index' || target.endsWith('/index')) return urlPath(target.slice(0, -'index'.length));
      return urlPath(clean ? target : `${target}.html`);
    },
    evidenceOf: () => ({
      confidence: lessUnknown(path === undefined || read?.value == null ? 0.7 : 0.9, settings.unknown),
      source: { path: settings.path },
    }),
  };
}

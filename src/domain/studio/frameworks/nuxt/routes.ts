import { below, joinPath } from '../../schema/site-layout.ts';
import { byConvention, codeSettings } from '../conventions/convention.ts';
import { basePath, githubSlug, urlPath, withoutExtension } from '../routing/paths.ts';
import type { RouteContext, RouteRule } from '../routing/route-rule.ts';
import { nuxtReader } from './schema.ts';

/** A segment without its number; what looks like a version keeps it. */
function segment(text: string): string {
  const bare = /^\d+\.\d/.test(text) ? text : text.replace(/^\d+\./, '');
  return githubSlug(bare.replace(/\.draft$/, '').replaceAll('.', '-'));
}

/** Nuxt Content: the path below `content` with its numbers removed, without a slash at its end. */
export async function readNuxtRule(reading: RouteContext): Promise<RouteRule> {
  const settings = await codeSettings(reading, ['nuxt.config']);
  const drafts = await nuxtReader.read({ ...reading, warnings: [] });
  const content = joinPath(reading.layout.root, 'content');
  return byConvention(settings, basePath(settings.text('app', 'baseURL')), ({ path }) => {
    const rest = below(content, path);
    if (rest === null || !rest.endsWith('.md') || /(^|\/)\./.test(rest)) return null;
    if (drafts.length > 0 && !drafts.some(({ schema }) => schema.matches(path))) return null;
    const parts = withoutExtension(rest).split('/').map(segment);
    return urlPath(...(parts.at(-1) === 'index' ? parts.slice(0, -1) : parts));
  });
}

import { createHash } from 'node:crypto';
import { readDataConfig } from '../../schema/config/config-file.ts';
import { below, extensionOf, joinPath } from '../../schema/site-layout.ts';
import { pad, readDate } from '../routing/dates.ts';
import { basePath, directoryOf, nameOf, urlPath, withoutExtension } from '../routing/paths.ts';
import type { PageFile, RouteContext, RouteRule } from '../routing/route-rule.ts';
import { Settings } from '../routing/settings.ts';
import { byConvention } from './convention.ts';

const markdown = new Set(['md', 'markdown', 'mkd', 'mkdn']);
const hidden = /(^|\/)[_.]/;

function tokens(rest: string, { frontmatter }: PageFile): Record<string, string> {
  const stem = withoutExtension(rest);
  const date = readDate(frontmatter.date)?.wall;
  const { categories, category } = frontmatter;
  const list = [categories ?? category].flat().filter((one) => typeof one === 'string');
  const dated = date && {
    year: String(date.getUTCFullYear()),
    month: pad(date.getUTCMonth() + 1),
    day: pad(date.getUTCDate()),
    i_month: String(date.getUTCMonth() + 1),
    i_day: String(date.getUTCDate()),
    hour: pad(date.getUTCHours()),
    minute: pad(date.getUTCMinutes()),
    second: pad(date.getUTCSeconds()),
    timestamp: String(date.getTime() / 1000),
  };
  return {
    ...dated,
    title: stem,
    name: nameOf(stem),
    post_title: typeof frontmatter.title === 'string' ? frontmatter.title.toLowerCase().replaceAll(' ', '-') : stem,
    id: String(frontmatter.id ?? ''),
    category: list.length > 0 ? list.join('/') : 'uncategorized',
    hash: createHash('sha1')
      .update(`_posts/${rest}${String(date?.getTime() ?? '')}`)
      .digest('hex')
      .slice(0, 12),
  };
}

/** Hexo: posts by the permalink of the site, pages by their path. */
export async function readHexoRule(reading: RouteContext): Promise<RouteRule> {
  const { config } = reading.detected;
  const value = config === null ? null : await readDataConfig(config, reading);
  const settings = new Settings(value, config ?? reading.layout.root, reading);
  const permalink = settings.text('permalink') ?? ':year/:month/:day/:title/';
  const source = joinPath(reading.layout.root, settings.text('source_dir') ?? 'source');
  const showsIndex = settings.flag('pretty_urls', 'trailing_index') ?? true;
  return byConvention(settings, basePath(settings.text('root')), (file) => {
    const rest = below(source, file.path);
    if (rest === null || !markdown.has(extensionOf(rest)) || file.frontmatter.published === false) return null;
    const post = below('_posts', rest);
    if (post !== null && !hidden.test(post)) {
      const own = file.frontmatter.permalink;
      if (typeof own === 'string' && own !== '') return urlPath(own);
      const values = tokens(post, file);
      const path = permalink.replace(/:(\w+)/g, (whole, name: string) => values[name] ?? whole);
      return path.includes(':') ? null : urlPath(path);
    }
    if (hidden.test(rest)) return null;
    const stem = withoutExtension(rest);
    if (nameOf(stem) === 'index' && showsIndex) return urlPath(directoryOf(rest), '/');
    return urlPath(`${stem}.html`);
  });
}

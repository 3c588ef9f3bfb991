import { hexoPage, hexoPost } from '../../schema/built-in-fields.ts';
import { findConfig, readDataConfig } from '../../schema/config/config-file.ts';
import { besidePages, type Declaration, declare } from '../../schema/declare.ts';
import { type PathSet, union } from '../../schema/path-set.ts';
import { folderFiles, type SchemaReader } from '../../schema/reader.ts';
import { dataExtensions, joinPath, trimmedPath } from '../../schema/site-layout.ts';
import { at, isTrue, textAt, textsOf } from '../../schema/static/values.ts';
import { withoutExtension } from '../routing/paths.ts';
import { hexoMarkdown } from './routes.ts';

const dates = new Set(['year', 'month', 'day']);

/** The slug of a new post by `new_post_name`; absent where that has names Portico gives no value. */
function postTemplate(rule: string): Pick<Declaration, 'template'> {
  const names = [...rule.matchAll(/:(\w*[^_\W])/g)].map(([, name = '']) => name);
  if (!names.some((name) => dates.has(name)) || names.some((name) => name !== 'title' && !dates.has(name))) return {};
  const slug = withoutExtension(rule).replace(/:(\w*[^_\W])/g, (_, name) => `{{${name === 'title' ? 'slug' : name}}}`);
  return { template: { slug } };
}

/**
 * Hexo: posts, drafts, pages and data below its source directory, all of which it also serves files from. Files in the asset folder of a post
 * are served beside its page, so their address follows from the post's.
 */
export const hexoReader: SchemaReader = {
  name: 'hexo',
  async read(reading) {
    const { layout, paths } = reading;
    if (layout.framework !== 'hexo') return [];
    const path = findConfig(reading, ['_config'], ['yml', 'yaml']);
    if (path === undefined) return [];
    const config = (await readDataConfig(path, { ...reading, warnings: [] })) ?? undefined;
    const directory = joinPath(layout.root, trimmedPath(textAt(config, 'source_dir') ?? 'source'));
    const codes = textsOf(at(config, 'language')).filter((code) => code !== 'default');
    if (layout.locales === null && codes.length > 1)
      layout.locales = { codes, default: codes[0] ?? null, placement: 'directory', default_unmarked: true };
    layout.mediaRoots ??= [
      { path: directory, public_path: '/' },
      { path: joinPath(directory, '_posts'), public_path: null },
    ];
    const source = { kind: 'hexo', path } as const;
    const partials = folderFiles(directory, '', {
      extensions: hexoMarkdown,
      only: (base) => ({ kind: 'marked', base, marks: '_' }),
      except: (base) =>
        union(
          { kind: 'marked', base, marks: '.' },
          ...['_posts', '_drafts', '_data'].map((name): PathSet => ({ kind: 'folder', base: joinPath(base, name) })),
        ),
    });
    const parts: PathSet = { kind: 'marked', base: directory, marks: '_.' };
    const collection = (name: string, folder: string, extensions: readonly string[], more: Partial<Declaration>) => {
      const files = folderFiles(directory, folder, { extensions, ...(folder === '' && { except: () => parts }) });
      if ('unknown' in files || (name !== 'posts' && !paths.some(files.matches))) return [];
      return [declare({ name, source, files, fields: [], warnings: [], infer: true, ...more }, reading)];
    };
    const assetFolders = isTrue(at(config, 'post_asset_folder'));
    const template = postTemplate(textAt(config, 'new_post_name') ?? ':title.md');
    return [
      ...collection('posts', '_posts', hexoMarkdown, { fields: hexoPost, assetFolders, ...template }),
      ...collection('drafts', '_drafts', hexoMarkdown, { fields: hexoPost, assetFolders }),
      ...(await besidePages(
        'data',
        { name: 'data', source, files: folderFiles(directory, '_data', { extensions: dataExtensions }) },
        reading,
      )),
      ...collection('pages', '', hexoMarkdown, { fields: hexoPage, rejects: parts }),
      ...(await besidePages('partial', { name: 'partials', source, files: partials }, reading)),
    ];
  },
};

import type { z } from 'zod';
import type { SiteIndex } from '../content/site-index.ts';
import { encodePath } from '../frameworks/routing/paths.ts';
import { mimeOf } from '../mime.ts';
import type { EntryRoutes } from '../routes/entry-routes.ts';
import type { media } from './media.schema.ts';
import { type MediaFacts, mediaRootOf, publicPath } from './media-facts.ts';
import { mediaTypeOf } from './media-types.ts';

/** The record of a media file. */
export function mediaRecord(
  site: SiteIndex,
  { path, oid }: { path: string; oid: string },
  facts: ReadonlyMap<string, MediaFacts>,
  { base, linkTo }: Pick<EntryRoutes, 'base' | 'linkTo'>,
): z.output<typeof media> {
  const below = publicPath(mediaRootOf(site, path), path);
  const url = below && encodePath(base) + below;
  const link = url && linkTo('files', url);
  return {
    path,
    name: path.slice(path.lastIndexOf('/') + 1),
    type: 'file',
    sha: oid,
    mime: mediaTypeOf(path)?.mime ?? mimeOf(path, false),
    ...(url !== undefined && { public_path: url }),
    ...(link !== undefined && { link }),
    ...facts.get(oid),
  };
}

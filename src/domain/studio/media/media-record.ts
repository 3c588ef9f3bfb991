import type { z } from 'zod';
import type { SiteIndex } from '../content/site-index.ts';
import { encodePath } from '../frameworks/routing/paths.ts';
import { mimeOf } from '../mime.ts';
import type { media } from './media.schema.ts';
import { type MediaFacts, mediaRootOf, publicPath } from './media-facts.ts';
import { mediaTypeOf } from './media-types.ts';

/**
 * The record of a media file.
 * @param base the path all of the site lies below, `''` for none
 */
export function mediaRecord(
  site: SiteIndex,
  { path, oid }: { path: string; oid: string },
  facts: ReadonlyMap<string, MediaFacts>,
  base: string,
): z.output<typeof media> {
  const url = publicPath(mediaRootOf(site, path), path);
  return {
    path,
    name: path.slice(path.lastIndexOf('/') + 1),
    type: 'file',
    sha: oid,
    mime: mediaTypeOf(path)?.mime ?? mimeOf(path, false),
    ...(url !== undefined && { public_path: encodePath(base) + url }),
    ...facts.get(oid),
  };
}

import { imageSize } from 'image-size';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { upTo } from '../../../lib/version-cache.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { encodePath } from '../frameworks/routing/paths.ts';
import { mimeOf } from '../mime.ts';
import { largestPointer, readLfsPointer } from '../repository/lfs-pointer.ts';
import type { EntryRoutes } from '../routes/entry-routes.ts';
import type { MediaRoot } from '../schema/collection-schema.ts';
import type { media } from './media.schema.ts';
import { mediaTypeOf } from './media-types.ts';

const within = (root: string, path: string) => root === '' || path === root || path.startsWith(`${root}/`);

/** The media root a path lies in: the deepest one; null outside all. */
export function mediaRootOf(site: SiteIndex, path: string): MediaRoot | null {
  const roots = site.discovery.mediaRoots.filter((root) => within(root.path, path));
  return roots.sort((a, b) => b.path.length - a.path.length)[0] ?? null;
}

/** URL path under which the site publishes a file of a media root; undefined when the framework decides per use. */
export function publicPath(root: MediaRoot | null, path: string): string | undefined {
  if (!root || root.public_path === null) return undefined;
  const rest = root.path === '' ? path : path.slice(root.path.length + 1);
  return `${root.public_path.replace(/\/$/, '')}/${rest.split('/').map(encodeURIComponent).join('/')}`;
}

/** What a listing tells of a media file beside its name. */
interface MediaFacts {
  size: number;
  width?: number;
  height?: number;
  lfs?: { oid: string; size: number };
}

/** Images above this are listed without their dimensions: they would have to be read whole, bytes. */
const largestMeasured = 16 * 1024 * 1024;

/** By object id, which names the content wherever it stands. */
const known = new LRUCache<string, MediaFacts>(upTo(20_000));

/**
 * As much of an image as its dimensions are looked for in; bytes. A parser may take time by the square of what it is given, for which all
 * other requests would wait.
 */
const headBytes = 32 * 1024;
/** In JPEG profiles of colours come first, and one for print has 557 KB. */
const jpegHeadBytes = 640 * 1024;
/** TIFF may have its directory at the end (TIFF 6.0, section 2; BigTIFF). */
const tiffMarks = new Set(['49492a00', '4d4d002a', '49492b00', '4d4d002b']);

function headOf(content: Buffer): Buffer {
  if (tiffMarks.has(content.toString('hex', 0, 4))) return content;
  const isJpeg = content[0] === 0xff && content[1] === 0xd8;
  return content.subarray(0, isJpeg ? jpegHeadBytes : headBytes);
}

/** What a header says may be any number; one that no record can hold is no dimension. */
const dimensions = z.object({ width: z.int32().min(0), height: z.int32().min(0) });

function measure(content: Buffer): { width: number; height: number } | null {
  try {
    const { width, height } = imageSize(headOf(content));
    return dimensions.safeParse({ width: Math.round(width), height: Math.round(height) }).data ?? null;
  } catch {
    // A file that is no image of its type is listed all the same.
    return null;
  }
}

/** Sizes of files, dimensions of images from their headers, and what LFS pointers stand for; contents are read once per object. */
export async function mediaFacts(
  git: Repository,
  snapshot: Snapshot,
  files: readonly { path: string; oid: string }[],
): Promise<Map<string, MediaFacts>> {
  const missing = files.filter((file) => !known.has(file.oid));
  const sizes = await git.sizes(missing.map((file) => file.oid));
  for (const [at, { path, oid }] of missing.entries()) {
    const size = sizes[at] ?? 0;
    const isImage = mediaTypeOf(path)?.kind === 'image' && size <= largestMeasured;
    const content = isImage || size <= largestPointer ? await snapshot.blob(oid) : null;
    const lfs = content ? readLfsPointer(content) : null;
    const measured = content && isImage && !lfs ? measure(content) : null;
    known.set(oid, { size: lfs?.size ?? size, ...measured, ...(lfs && { lfs }) });
  }
  return new Map(
    files.flatMap(({ oid }) => {
      const facts = known.get(oid);
      return facts ? [[oid, facts]] : [];
    }),
  );
}

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

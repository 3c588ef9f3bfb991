import { isImage, looksLikeHtml } from '../../domain/crawlers/pages/charset.ts';
import type { FetchRequest } from '../../domain/ports/fetcher.ts';

/** Types that page readers know: HTML, CSS, web manifests. */
const readable = new Set([
  'text/html',
  'application/xhtml+xml',
  'text/css',
  'application/manifest+json',
  'application/json',
]);

const essence = (type: string): string => (type.split(';', 1)[0] ?? '').trim().toLowerCase();

/** The type of a body; one without is HTML when a page was asked for and it looks like one. */
export function bodyType(
  declared: string | null,
  beginning: Uint8Array,
  read: FetchRequest['read'],
): { contentType: string | null; isSniffed: boolean } {
  if (declared !== null || read !== 'page' || !looksLikeHtml(new TextDecoder().decode(beginning.subarray(0, 1024))))
    return { contentType: declared, isSniffed: false };
  return { contentType: 'text/html', isSniffed: true };
}

/**
 * Whether a body of this type is to come back. One without a type may be a sheet that its page names, and images are not read
 * whatever they are called.
 * @param beginning null while only the head is known
 */
export function isReadable(read: FetchRequest['read'], type: string | null, beginning: Uint8Array | null): boolean {
  if (read === 'all') return true;
  if (read === 'none' || (type !== null && !readable.has(essence(type)))) return false;
  return beginning === null || !isImage(beginning);
}

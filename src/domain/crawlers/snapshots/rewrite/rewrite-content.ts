import { encodeQuery } from '../../urls/query-encoding.ts';
import { carrierFor, isTooLong, type LinkMapper, type Rewriting } from './carrier.ts';

/** What holds links and can be rewritten. */
export type RewritableKind = 'html' | 'xhtml' | 'css';

const kinds: Record<string, RewritableKind> = {
  'text/html': 'html',
  'application/xhtml+xml': 'xhtml',
  'text/css': 'css',
};

/** A longer sheet goes out as it is: it is rewritten in one go, a mebibyte in a tenth of a second; bytes. */
const longestSheet = 2 * 1024 * 1024;

/** What a content is by its media type; null for what is never rewritten. */
export const rewritableKind = (contentType: string | null): RewritableKind | null =>
  kinds[contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''] ?? null;

/** A rewritten content, and the encoding it is in now when that is another one than before. */
export interface Rewritten {
  content: AsyncIterable<Buffer>;
  becomes: 'utf-8' | null;
}

/** Rewrites the links of a document or a sheet as it is read. @param size bytes of the content */
export function rewriteContent(
  kind: RewritableKind,
  source: AsyncIterable<Uint8Array>,
  size: number,
  { map: mapAny, ...as }: Rewriting,
): Rewritten {
  const rewriting: Rewriting = { ...as, map: (link, ...more) => (isTooLong(link) ? null : mapAny(link, ...more)) };
  if (kind === 'css' && size > longestSheet) return { content: asBuffers(source), becomes: null };
  const carrier = carrierFor(rewriting.charset, rewriting.toUtf8);
  if (kind === 'css') return { becomes: carrier.becomes, content: rewriteSheet(source, rewriting) };
  const { becomes } = carrier;
  const map = sentAs(rewriting, becomes);
  return { becomes, content: rewriteDocument(kind, source, { ...rewriting, map }) };
}

/** Links with their queries as the document sends them: one that becomes UTF-8 would send them otherwise, so there they are written out. */
function sentAs({ charset, map }: Rewriting, becomes: Rewritten['becomes']): LinkMapper {
  return (link, ...more) => {
    const sent = encodeQuery(link, charset);
    return map(sent, ...more) ?? (becomes === null || sent === link ? null : inAscii(sent));
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all but ASCII is what is meant
const inAscii = (link: string) => link.toWellFormed().replace(/[^\u0000-\u007f]+/gu, encodeURIComponent);

async function* asBuffers(source: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  for await (const chunk of source) yield Buffer.from(chunk);
}

async function* rewriteDocument(kind: RewritableKind, source: AsyncIterable<Uint8Array>, rewriting: Rewriting) {
  const carrier = carrierFor(rewriting.charset, rewriting.toUtf8);
  // The readers of HTML and CSS are loaded with the first content: a server that shows no crawled site has no use for them.
  const { HtmlRewriter } = await import('./html-rewriter.ts');
  const rewriter = new HtmlRewriter(rewriting, carrier, { isXml: kind === 'xhtml' });
  for await (const chunk of carrier.read(source)) {
    const out = rewriter.write(chunk);
    if (out !== '') yield carrier.encode(out);
  }
  yield carrier.encode(rewriter.end());
}

async function* rewriteSheet(source: AsyncIterable<Uint8Array>, { url, charset, toUtf8, map }: Rewriting) {
  const carrier = carrierFor(charset, toUtf8);
  const { rewriteCss } = await import('./rewrite-css.ts');
  let text = '';
  for await (const chunk of carrier.read(source)) text += chunk;
  yield carrier.encode(rewriteCss(text, carrier, (link) => map(link, url, 'link')));
}

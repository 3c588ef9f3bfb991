import { z } from 'zod';
import { Collector, DocumentBase } from './collector.ts';
import { type DocumentToRead, maxBytes } from './document.ts';
import { noDirectives } from './html/directives.ts';
import type { PageFacts, ReadFault } from './page-facts.ts';
import { charsetOf, decodeText } from './text/charset.ts';

/** A part that is not as it should be counts as absent, as in browsers. */
const pictures = z.array(z.object({ src: z.string() }).catch({ src: '' })).catch([]);

const manifest = z.object({
  start_url: z.string().catch(''),
  icons: pictures,
  screenshots: pictures,
  shortcuts: z.array(z.object({ icons: pictures }).catch({ icons: [] })).catch([]),
});

function parse(text: string): z.output<typeof manifest> | null {
  try {
    return manifest.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** Reads a web app manifest (W3C Application Manifest): its pictures, and `start_url` as a link; relative to the manifest. */
export function readManifest({ bytes, url, contentType, parserOn, options }: DocumentToRead): PageFacts {
  const collector = new Collector(options, parserOn);
  const base = new DocumentBase(url);
  const charset = charsetOf(bytes, contentType, 'json');
  const faults: ReadFault[] = bytes.length > maxBytes ? ['too_large'] : [];
  const read = faults.length > 0 ? null : parse(decodeText(bytes, charset));
  if (read === null && faults.length === 0) faults.push('content');
  if (read?.start_url) collector.page(read.start_url, 'start_url', base);
  const icons = [...(read?.icons ?? []), ...(read?.shortcuts ?? []).flatMap((shortcut) => shortcut.icons)];
  for (const { src } of icons) collector.asset(src, 'icon', base);
  for (const { src } of read?.screenshots ?? []) collector.asset(src, 'screenshot', base);
  return { charset, ...collector.resolve(), robots: noDirectives(), faults };
}

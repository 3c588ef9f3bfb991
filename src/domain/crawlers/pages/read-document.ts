import { z } from 'zod';
import type { PageFacts, ReadFault } from '../../../ports/page-facts.ts';
import type { PageToRead } from '../../../ports/page-reader.ts';
import { charsetOf, decodeText } from './charset.ts';
import { Collector, DocumentBase } from './collector.ts';
import { type DocumentToRead, type GoOn, maxBytes, noDirectives } from './document.ts';
import { readSheet } from './read-css.ts';
import { readPage } from './read-page.ts';

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
function readManifest({ bytes, url, contentType, parserOn, options }: DocumentToRead): PageFacts {
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

/** Reads a document of any kind a page reader knows. @param goOn false ends the reading with what was found */
export function readDocument(page: PageToRead, goOn?: GoOn): PageFacts {
  const { bytes, url, contentType, robotsTag, parserOn, origin, stripParams, charset } = page;
  const options = {
    stripParams,
    ...(origin === undefined ? {} : { origin: new URL(origin) }),
    ...(charset !== undefined && { charset }),
  };
  const document = { bytes, url, contentType, robotsTag, parserOn, options };
  if (page.kind === 'css') return readSheet(document, goOn);
  return page.kind === 'manifest' ? readManifest(document) : readPage(document, goOn);
}

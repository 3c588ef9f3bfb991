import type { PageToRead } from '../../ports/page-reader.ts';
import { readSheet } from './css/read-sheet.ts';
import type { GoOn } from './document.ts';
import { readPage } from './html/read-page.ts';
import type { PageFacts } from './page-facts.ts';
import { readManifest } from './read-manifest.ts';

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

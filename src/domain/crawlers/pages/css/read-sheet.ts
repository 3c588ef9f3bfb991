import { Collector, DocumentBase } from '../collector.ts';
import { type DocumentToRead, type GoOn, maxBytes } from '../document.ts';
import { noDirectives } from '../html/directives.ts';
import type { PageFacts, ReadFault } from '../page-facts.ts';
import { charsetOf, decodeText } from '../text/charset.ts';
import { isImage } from '../text/sniff.ts';
import { readCss } from './read-css.ts';

/** Reads a style sheet; its addresses are relative to it. */
export function readSheet(sheet: DocumentToRead, goOn: GoOn = () => true): PageFacts {
  const bytes = sheet.bytes.subarray(0, maxBytes);
  const charset = charsetOf(bytes, sheet.contentType, 'css');
  const collector = new Collector(sheet.options, sheet.parserOn);
  const faults: ReadFault[] = sheet.bytes.length > maxBytes ? ['too_large'] : [];
  const facts = (): PageFacts => ({ charset, ...collector.resolve(), robots: noDirectives(), faults: [...faults] });
  if (isImage(bytes)) {
    faults.push('content');
    return facts();
  }
  const base = new DocumentBase(sheet.url);
  let isWhole = true;
  readCss(
    decodeText(bytes, charset),
    (written, relation) => collector.asset(written, relation, base),
    () => {
      isWhole = goOn(facts);
      return isWhole;
    },
  );
  if (!isWhole) faults.push('time');
  return facts();
}

import { Parser, type ParserOptions } from 'htmlparser2';
import { Collector } from '../collector.ts';
import { type DocumentToRead, type GoOn, maxBytes } from '../document.ts';
import type { PageFacts, ReadFault } from '../page-facts.ts';
import { charsetOf, decodeText } from '../text/charset.ts';
import { isImage } from '../text/sniff.ts';
import { pageParserOptions } from './decoded-attributes.ts';
import { applyHeader, noDirectives } from './directives.ts';
import { PageHandler } from './page-handler.ts';

/** Characters between two looks at the clock. */
const piece = 64 * 1024;

/** Reads an HTML or XHTML page; never throws, whatever its bytes are. */
export function readPage(page: DocumentToRead, goOn: GoOn = () => true): PageFacts {
  const isXhtml = /^\s*application\/xhtml\+xml/i.test(page.contentType ?? '');
  const robots = noDirectives();
  applyHeader(robots, page.robotsTag);
  const bytes = page.bytes.subarray(0, maxBytes);
  const charset = charsetOf(bytes, page.contentType, isXhtml ? 'xhtml' : 'html');
  const collector = new Collector({ charset, ...page.options }, page.parserOn);
  const faults: ReadFault[] = page.bytes.length > maxBytes ? ['too_large'] : [];
  const facts = (): PageFacts => ({ charset, ...collector.resolve(), robots: { ...robots }, faults: [...faults] });
  if (isImage(bytes)) {
    faults.push('content');
    return facts();
  }
  const handler = new PageHandler(collector, robots, page.url);
  const isWhole = feed(handler, decodeText(bytes, charset).replaceAll('\u0000', '\ufffd'), isXhtml, () => goOn(facts));
  if (handler.isTooDeep) faults.push('nesting');
  else if (!isWhole) faults.push('time');
  return facts();
}

/** Gives the text to a parser piece by piece. @returns false when it was ended before its end */
function feed(handler: PageHandler, text: string, isXhtml: boolean, goOn: () => boolean): boolean {
  const xhtml: ParserOptions = { recognizeSelfClosing: true, recognizeCDATA: true };
  const parser = new Parser(handler, { ...pageParserOptions, ...(isXhtml && xhtml) });
  handler.goOn = goOn;
  let isWhole = true;
  for (let at = 0; isWhole && at < text.length; at += piece) {
    parser.write(text.length <= piece ? text : text.slice(at, at + piece));
    const isLast = at + piece >= text.length;
    isWhole = !handler.isTooDeep && !handler.isStopped && (isLast || goOn());
  }
  // What is open at the end is closed: a style sheet, a form.
  if (isWhole) parser.end();
  return isWhole && !handler.isStopped;
}

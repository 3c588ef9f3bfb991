import { Parser, type ParserOptions } from 'htmlparser2';
import { expect, it } from 'vitest';
import {
  type Attributes,
  decodedAttributes,
  pageParserOptions,
} from '../../../../src/domain/crawlers/pages/read-page.ts';
import fc from '../../../support/properties.ts';

/** Every opening tag of a text, in order. */
function tagsOf(html: string, options: ParserOptions): { name: string; attributes: Attributes }[] {
  const tags: { name: string; attributes: Attributes }[] = [];
  const parser = new Parser({ onopentag: (name, attributes) => void tags.push({ name, attributes }) }, options);
  parser.end(html);
  return tags;
}

const pieces = [
  '&',
  '&amp;',
  '&amp',
  '&copy',
  '&copy;',
  '&copycat',
  '&not',
  '&notin;',
  '&#65;',
  '&#x26;',
  '&#38',
  '&#0;',
];
const others = [
  '=',
  ';',
  '"',
  "'",
  'a',
  'Z',
  '1',
  ' ',
  '<',
  '>',
  '/',
  '\n',
  'é',
  '<a href=',
  '<title>',
  '<style>',
  '</style>',
  '<!--',
  '-->',
];
const html = fc.array(fc.constantFrom(...pieces, ...others), { maxLength: 30 }).map((parts) => parts.join(''));

it('are what a parser reads that decodes references itself, whatever the text', () => {
  fc.assert(
    fc.property(html, html, (before, value) => {
      const text = `${before}<a href="${value}" data-src='${value}' src=${value}>x</a><img src=${value}><p title="${value}">`;
      const fast = tagsOf(text, pageParserOptions).map(({ name, attributes }) => ({
        name,
        attributes: decodedAttributes(attributes),
      }));
      expect(fast).toEqual(tagsOf(text, {}));
    }),
    { numRuns: 2_000 },
  );
});

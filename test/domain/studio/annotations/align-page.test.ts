import { expect, it } from 'vitest';
import { alignPage } from '../../../../src/domain/studio/annotations/align-page.ts';
import { leavesOf } from '../../../../src/domain/studio/annotations/page-leaves.ts';
import { blocksOfFile } from '../../../../src/domain/studio/annotations/source-blocks.ts';
import fc from '../../../support/properties.ts';

const blocksOf = (text: string) => blocksOfFile(text, 'page.md', { mdx: false, templates: null });

/** What is found: text of the block and position of the leaf. */
function aligned(source: string, html: string) {
  const blocks = blocksOf(source);
  return alignPage(blocks, leavesOf(html)).map(({ block, leaf, confidence }) => [
    blocks[block]?.text,
    leaf,
    confidence,
  ]);
}

const long = 'A sentence that is long enough to be known';

it('finds long texts by themselves and short ones by the blocks beside them', () => {
  const html = `<nav><li>Notes</li></nav><main><h2>Notes</h2><p>${long}</p><p>Yes</p></main><footer><p>Yes</p></footer>`;
  expect(aligned(`## Notes\n\n${long}\n\nYes\n`, html)).toEqual([
    ['notes', 1, 0.95],
    ['a sentence that is long enough to be known', 2, 1],
    ['yes', 3, 0.95],
  ]);
});

it('leaves a short text alone that no neighbour proves', () => {
  expect(aligned('## Notes\n\nYes\n', '<h2>Notes</h2><p>Yes</p>')).toEqual([]);
});

it('does not guess which of several equal blocks the page has left out', () => {
  const [first, last] = [`${long} one`, `${long} two`];
  const found = aligned(
    `${first}\n\nSame\n\nGone\n\nSame\n\n${last}\n`,
    `<main><p>${first}</p><p>Same</p><p>${last}</p></main>`,
  );
  expect(found.map(([text]) => text)).toEqual([`${long} one`.toLowerCase(), `${long} two`.toLowerCase()]);
});

it('finds a block of which a template has written a part by the words in common', () => {
  const source = `${long} one\n\nThe bees came on and brought much honey home\n\n${long} two\n`;
  const html = `<main><p>${long} one</p><p>The bees came on Monday and brought much honey home</p><p>${long} two</p></main>`;
  expect(aligned(source, html)[1]).toEqual(['the bees came on and brought much honey home', 1, 0.85]);
});

it('does not take the teaser of a text for the text', () => {
  const source = `${long}\n\nMore of the same kind, also long enough\n\nAnd a last sentence of the same length\n`;
  const html = `<main><p>${long}</p><p>More of the same kind, also long enough</p><p>And a last sentence of the same length</p></main>
    <aside><p>${long}</p></aside>`;
  expect(aligned(source, html).map(([, leaf]) => leaf)).toEqual([0, 1, 2]);
});

it('never takes a block for another, whatever the page repeats, leaves out and adds', () => {
  const words = fc.constantFrom(
    'yes',
    'no',
    'notes',
    'see also',
    'the first long sentence of the bees',
    'another long sentence about the pears',
  );
  const kind = fc.constantFrom('paragraph', 'heading', 'item');
  const block = fc.record({
    text: words,
    kind,
    isShown: fc.constantFrom(true, true, true, false),
    noise: fc.option(words, { freq: 4 }),
  });
  fc.assert(
    fc.property(fc.array(block, { maxLength: 30 }), (blocks) => {
      const marked = blocks.map((one, at) => ({
        ...one,
        text: at % 3 === 0 ? `${one.text} with a number ${at} of its own` : one.text,
      }));
      const markdown = {
        paragraph: (text: string) => text,
        heading: (text: string) => `## ${text}`,
        item: (text: string) => `- ${text}`,
      };
      const element = { paragraph: 'p', heading: 'h2', item: 'li' };
      const source = marked.map(({ text, kind }) => markdown[kind as 'item'](text)).join('\n\n<!-- -->\n\n');
      const origin: number[] = [];
      const html = marked.map(({ text, kind, isShown, noise }, at) => {
        const tag = element[kind as 'item'];
        if (isShown) origin.push(at);
        if (noise !== null) origin.push(-1);
        // What a template adds has words of its own.
        return (
          (isShown ? `<${tag}>${text}</${tag}>` : '') +
          (noise === null ? '' : `<p>added ${noise} by the template of all pages</p>`)
        );
      });
      const found = alignPage(blocksOf(source), leavesOf(`<main>${html.join('')}</main>`));
      for (const { block: at, leaf } of found) {
        expect(origin[leaf]).toBe(at);
      }
    }),
    { numRuns: 300 },
  );
});

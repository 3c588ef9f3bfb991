import { markdownLanguage } from '@codemirror/lang-markdown';
import { expect, it } from 'vitest';
import { bodyLanguage } from '../../src/dashboard/pages/entry/body-language.ts';

const { parser } = bodyLanguage.language;

/** Lengths of the paragraphs of a text. */
function paragraphsOf(text: string): number[] {
  const lengths: number[] = [];
  for (let node = parser.parse(text).topNode.firstChild; node; node = node.nextSibling)
    if (node.name === 'Paragraph') lengths.push(node.to - node.from);
  return lengths;
}

const line = 'A *line* of text that is long enough to be a line of a paragraph.\n';

it('reads a paragraph of up to 8,000 letters as one', () => {
  const text = line.repeat(Math.floor(8_000 / line.length));
  expect(paragraphsOf(text)).toEqual([text.length - 1]);
});

it('reads a longer one in parts that end at ends of lines', () => {
  const text = line.repeat(1_500);
  const lengths = paragraphsOf(text);
  expect(lengths.length).toBeGreaterThan(11);
  for (const length of lengths) expect(length).toBeLessThanOrEqual(8_000 + line.length);
  for (const length of lengths) expect((length + 1) % line.length).toBe(0);
  expect(lengths.reduce((sum, length) => sum + length + 1, 0)).toBe(text.length);
});

it('reads everything else as Markdown is read', () => {
  const text = `# Title\n\n${line.repeat(3)}\n- one\n  - two\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n${line.repeat(100)}===\n\n> ${line.repeat(2)}`;
  expect(parser.parse(text).toString()).toBe(markdownLanguage.parser.parse(text).toString());
});

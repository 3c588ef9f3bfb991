import fc from '../../../support/properties.ts';

const sentence = fc
  .array(fc.constantFrom('the', 'site', 'builds', 'pages', 'from', 'notes', 'and', 'lists', 'them', 'by', 'date'), {
    minLength: 3,
    maxLength: 9,
  })
  .map((words) => `${words.join(' ')}.`);
const block = fc.oneof(
  { weight: 4, arbitrary: fc.array(sentence, { minLength: 1, maxLength: 4 }).map((lines) => lines.join('\n')) },
  { weight: 1, arbitrary: sentence.map((text) => `## ${text}`) },
  {
    weight: 1,
    arbitrary: fc.array(sentence, { minLength: 2, maxLength: 4 }).map((items) => `- ${items.join('\n- ')}`),
  },
  { weight: 1, arbitrary: fc.constant('```js\nrun();\n```') },
);

/** Markdown as people write it: paragraphs, headings, lists and code, apart by blank lines that are all alike. */
export const paragraphs = fc.array(block, { minLength: 1, maxLength: 12 }).map((blocks) => `${blocks.join('\n\n')}\n`);

const step = fc.record({
  at: fc.nat(),
  count: fc.nat(3),
  kind: fc.constantFrom('insert', 'remove', 'replace', 'copy'),
  text: fc.oneof(sentence, fc.constantFrom('', 'a', 'b', 'new')),
});

/** Up to three edits of lines, some of which copy lines that are there already. */
export function edit(text: string): fc.Arbitrary<string> {
  return fc.array(step, { maxLength: 3 }).map((steps) => {
    const lines = text.split('\n');
    for (const { at, count, kind, text: line } of steps) {
      const here = at % lines.length;
      if (kind === 'insert') lines.splice(here, 0, line);
      else if (kind === 'remove') lines.splice(here, count);
      else if (kind === 'replace') lines.splice(here, Math.max(count, 1), line);
      else lines.splice(here, 0, ...lines.slice(here, here + count + 1));
      if (lines.length === 0) lines.push('');
    }
    return lines.join('\n');
  });
}

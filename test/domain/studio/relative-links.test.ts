import { expect, it } from 'vitest';
import {
  hasRelativeLink,
  hasRelativeValue,
  relink,
  relinkValue,
} from '../../../src/domain/studio/media/relative-links.ts';
import { iterationsDuring } from '../../support/loop-iterations.ts';
import fc from '../../support/properties.ts';

it('rewrites the links of a text that has up to 50,000 of them', async () => {
  const moves = { from: 'posts/a.md', to: 'posts/b/a.md', moved: new Map(), existed: () => true };
  const text = (links: number) => '[x](c.png) '.repeat(links);
  expect(await relink(text(50_000), moves)).toBe('[x](../c.png) '.repeat(50_000));
  expect(await relink(text(50_001), moves)).toBe(text(50_001));
});

it('looks through a text once for all destinations without an end', async () => {
  const moves = { from: 'posts/a.md', to: 'posts/b/a.md', moved: new Map(), existed: () => true };
  const rest = 'a'.repeat(4_000_000);
  for (const mark of ['src=', 'src= "', 'from ', '](', ']: ', '](<', ']("']) {
    const text = mark.repeat(40_000) + rest;
    expect((await relink(text, moves)).endsWith(rest)).toBe(true);
  }
});

it('finds links beside up to 50,000 runs of backticks in a paragraph, and in steps', async () => {
  const moves = { from: 'posts/a.md', to: 'posts/b/a.md', moved: new Map(), existed: () => true };
  const text = (runs: number) => `${'`'.padEnd(2).repeat(runs)}\n[x](c.png)\n\n[y](d.png)`;
  expect(await relink(text(50_000), moves)).toMatch(/\n\[x\]\(\.\.\/c\.png\)\n\n\[y\]\(\.\.\/d\.png\)$/);
  expect(await relink(text(50_001), moves)).toMatch(/\n\[x\]\(c\.png\)\n\n\[y\]\(\.\.\/d\.png\)$/);
  expect(await iterationsDuring(() => relink('`\n\n'.repeat(10_000), moves))).toBeGreaterThan(50);
});

it('takes no code for text, nor a blank line with a carriage return for one with text', async () => {
  const moves = { from: 'posts/a.md', to: 'posts/b/a.md', moved: new Map(), existed: () => true };
  const code = '`[x](c.png)` ``\n[x](c.png)``\n```\n[x](c.png)\n\n[x](c.png)\n```\n';
  const text = '[x](c.png) ` [x](c.png)\r\n\r\n` [x](c.png)';
  expect(await relink(`${code}${text}`, moves)).toBe(`${code}${text.replaceAll('c.png', '../c.png')}`);
});

it('keeps apart what Markdown and what attributes write as a destination', async () => {
  const moves = { from: 'posts/a.md', to: 'posts/b/a.md', moved: new Map(), existed: () => true };
  const text =
    '[x](<c d.png>) [x](c%20d.png "c.png") <img src=c.png> <img src="c d.png"> <img src=\'c.png\'> [x]("c.png")';
  expect(await relink(text, moves)).toBe(
    '[x](<../c d.png>) [x](../c%20d.png "c.png") <img src=c.png> <img src="../c d.png"> <img src=\'../c.png\'> [x]("c.png")',
  );
});

it('rewrites a link of up to 4,096 characters', async () => {
  const moves = { from: 'posts/a.md', to: 'posts/b/a.md', moved: new Map(), existed: () => true };
  const link = (length: number) => `${'c'.repeat(length - 4)}.png`;
  expect(await relink(`[x](${link(4_096)})`, moves)).toBe(`[x](../${link(4_096)})`);
  expect(await relink(`[x](${link(4_097)})`, moves)).toBe(`[x](${link(4_097)})`);
});

it('finds a relative link in every text and value that a move changes', async () => {
  const moves = { from: 'posts/a.md', to: 'posts/b/a.md', moved: new Map(), existed: () => true };
  const pieces = [
    '](',
    ']: ',
    'src=',
    'ref ',
    '"',
    "'",
    '<',
    '>',
    ')',
    '/',
    'https:',
    '?',
    '#',
    'c.png',
    '`',
    '```\n',
    '\n',
    ' ',
  ];
  let changed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), async (chosen) => {
      const text = chosen.join('');
      const link = text.replaceAll('`', '');
      const isChanged = (await relink(link, moves)) !== link;
      if (isChanged) expect(hasRelativeLink(link)).toBe(true);
      if (relinkValue(text, moves) !== text) expect(hasRelativeValue({ a: [text] })).toBe(true);
      changed += Number(isChanged);
    }),
    { numRuns: 2_000 },
  );
  expect(changed).toBeGreaterThan(10);
});

it.each(['[x](/c.png)', '[x](https://a.test/c.png)', '[x](#part)', '[x]: ', 'src=c.png', '`c.png`'])(
  'finds none in %s',
  (text) => {
    expect(hasRelativeLink(text)).toBe(false);
  },
);

it.each(['c', '/c.png', 'https://a.test/c.png', 1, null, { a: [true] }])('finds none in the value %j', (value) => {
  expect(hasRelativeValue(value)).toBe(false);
});

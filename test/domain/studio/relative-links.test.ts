import { expect, it } from 'vitest';
import {
  hasRelativeLink,
  hasRelativeValue,
  relink,
  relinkValue,
} from '../../../src/domain/studio/media/relative-links.ts';
import fc from '../../support/properties.ts';

it('rewrites the links of a text that has up to 50,000 of them', () => {
  const moves = { from: 'posts/a.md', to: 'posts/b/a.md', moved: new Map(), existed: () => true };
  const text = (links: number) => '[x](c.png) '.repeat(links);
  expect(relink(text(50_000), moves)).toBe('[x](../c.png) '.repeat(50_000));
  expect(relink(text(50_001), moves)).toBe(text(50_001));
});

it('looks through a text once for all destinations without an end', () => {
  const moves = { from: 'posts/a.md', to: 'posts/b/a.md', moved: new Map(), existed: () => true };
  const rest = 'a'.repeat(4_000_000);
  for (const mark of ['src=', 'src= "', 'from ', '](', ']: ', '](<', ']("']) {
    const text = mark.repeat(40_000) + rest;
    expect(relink(text, moves).endsWith(rest)).toBe(true);
  }
});

it('keeps apart what Markdown and what attributes write as a destination', () => {
  const moves = { from: 'posts/a.md', to: 'posts/b/a.md', moved: new Map(), existed: () => true };
  const text =
    '[x](<c d.png>) [x](c%20d.png "c.png") <img src=c.png> <img src="c d.png"> <img src=\'c.png\'> [x]("c.png")';
  expect(relink(text, moves)).toBe(
    '[x](<../c d.png>) [x](../c%20d.png "c.png") <img src=c.png> <img src="../c d.png"> <img src=\'../c.png\'> [x]("c.png")',
  );
});

it('rewrites a link of up to 4,096 characters', () => {
  const moves = { from: 'posts/a.md', to: 'posts/b/a.md', moved: new Map(), existed: () => true };
  const link = (length: number) => `${'c'.repeat(length - 4)}.png`;
  expect(relink(`[x](${link(4_096)})`, moves)).toBe(`[x](../${link(4_096)})`);
  expect(relink(`[x](${link(4_097)})`, moves)).toBe(`[x](${link(4_097)})`);
});

it('finds a relative link in every text and value that a move changes', () => {
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
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (chosen) => {
      const text = chosen.join('');
      const link = text.replaceAll('`', '');
      if (relink(link, moves) !== link) expect(hasRelativeLink(link)).toBe(true);
      if (relinkValue(text, moves) !== text) expect(hasRelativeValue({ a: [text] })).toBe(true);
      changed += Number(relink(link, moves) !== link);
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

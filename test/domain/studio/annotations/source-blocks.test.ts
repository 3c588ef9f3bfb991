import { describe, expect, it } from 'vitest';
import { blocksOfFile, type Dialect, dialectOf } from '../../../../src/domain/studio/annotations/source-blocks.ts';

const plain: Dialect = { mdx: false, templates: null };
const shown = (text: string, dialect = plain, path = 'page.md') =>
  blocksOfFile(text, path, dialect).map(({ kind, text: seen, start_line, end_line }) => [
    kind,
    seen,
    start_line,
    end_line,
  ]);

describe('blocks of a file', () => {
  it('are headings, paragraphs, items, cells, code and images, with lines counted from the start of the file', () => {
    const text = `---
title: Frost
---
# Late *frost*

Cover the
"young" pears.

- Water
  1. Twice -- a day

| Month | Days |
| --- | --- |
| May | 3 |

\`\`\`js
go(1);
\`\`\`

![A bee](bee.png)
`;
    expect(shown(text)).toEqual([
      ['heading', 'late frost', 4, 4],
      ['paragraph', 'cover the young pears', 6, 7],
      ['list_item', 'water', 9, 9],
      ['list_item', 'twice a day', 10, 10],
      ['table_cell', 'month', 12, 12],
      ['table_cell', 'days', 12, 12],
      ['table_cell', 'may', 14, 14],
      ['table_cell', '3', 14, 14],
      ['code', 'go 1', 16, 18],
      ['image', 'a bee', 20, 20],
    ]);
  });

  it('have offsets that cut them out of the file, also behind a byte order mark and in CRLF', () => {
    const text = '\ufeff---\r\na: 1\r\n---\r\n\r\n## One\r\n\r\nTwo ü three\r\n';
    const cut = blocksOfFile(text, 'page.md', plain).map(({ start, end }) => text.slice(start, end));
    expect(cut).toEqual(['## One', 'Two ü three']);
  });

  it('have the letters of bare addresses, whether or not those are links', () => {
    const text =
      'See https://example.org/a_b_c/*d* and www.example.org.\n\n- ~~old~~ a.b@example.org [^1]\n\n[^1]: Note\n';
    expect(shown(text)).toEqual([
      ['paragraph', 'see https example org a b c d and www example org', 1, 1],
      ['list_item', 'old a b example org', 3, 3],
      ['paragraph', 'note', 5, 5],
    ]);
  });

  it('are the terms and definitions of lists, where the site makes such', () => {
    const text =
      'Words: before\n\nPear\nQuince\n: A fruit,\n  of a *tree*\n: A colour\n\nApple\n\n:   Another\n\n    More of it\n\nLast: words\n\n```\na\n: b\n```\n';
    const dialect = { ...plain, definitions: true };
    expect(shown(text, dialect)).toEqual([
      ['paragraph', 'words before', 1, 1],
      ['paragraph', 'pear', 3, 3],
      ['paragraph', 'quince', 4, 4],
      ['paragraph', 'a fruit of a tree', 5, 6],
      ['paragraph', 'a colour', 7, 7],
      ['paragraph', 'apple', 9, 9],
      ['paragraph', 'another', 11, 11],
      ['paragraph', 'more of it', 13, 13],
      ['paragraph', 'last words', 15, 15],
      ['code', 'a b', 17, 20],
    ]);
    const cut = blocksOfFile(text, 'page.md', dialect).map(({ start, end }) => text.slice(start, end));
    expect(cut.slice(1, 6)).toEqual(['Pear', 'Quince', 'A fruit,\n  of a *tree*', 'A colour', 'Apple']);
    expect(shown('Pear\n: A fruit\n')).toEqual([['paragraph', 'pear a fruit', 1, 2]]);
  });

  it('keep footnotes for the end, in the order in which the text refers to them', () => {
    const text = 'A[^b] and B[^a].\n\n[^a]: First written\n\n[^b]: First read\n\nLast\n';
    expect(shown(text).map(([, seen]) => seen)).toEqual(['a and b', 'last', 'first read', 'first written']);
  });

  it('leave out what only templates know, and say so', () => {
    const of = (text: string, framework: string) =>
      blocksOfFile(text, 'page.md', dialectOf(framework, 'page.md')).map(({ text: seen, has_template }) => [
        seen,
        has_template,
      ]);
    expect(of('Frost {{ page.date }} came\n\n{% if x %}\nInside\n{% endif %}\n', 'jekyll')).toEqual([
      ['frost came', true],
      ['inside', true],
    ]);
    expect(of('{{< figure src="a.png" >}}\n\nPlain {{ words }}\n', 'hugo')).toEqual([['plain words', false]]);
    expect(of('Now {{ count }} bees\n', 'vitepress')).toEqual([['now bees', true]]);
  });

  it('are found within containers and admonitions of Markdown', () => {
    expect(shown('::: tip\nInside\n:::\n\n:::note[Title]\nMore\n:::\n').map(([, seen]) => seen)).toEqual([
      'inside',
      'more',
    ]);
    expect(shown('!!! note "Title"\n    Dedented *text*\n\n    - item\n\nOutside\n')).toEqual([
      ['paragraph', 'dedented text', 2, 2],
      ['list_item', 'item', 4, 4],
      ['paragraph', 'outside', 6, 6],
    ]);
  });

  it('of MDX are read between components, and a file that is no MDX is read as Markdown', () => {
    const mdx: Dialect = { mdx: true, templates: null };
    const text = `import Card from './card.jsx';

<Card title="x">
  Inside **it**
</Card>

With <Icon name="bee" /> and {count} bees
`;
    expect(blocksOfFile(text, 'page.mdx', mdx).map(({ text: seen, has_template }) => [seen, has_template])).toEqual([
      ['inside it', false],
      ['with and bees', true],
    ]);
    expect(shown('A < b and {\n\nNext\n', mdx, 'page.mdx').map(([, seen]) => seen)).toEqual(['a b and', 'next']);
  });

  it('of HTML are its runs of text', () => {
    expect(shown('<div><p>One</p><p>Two</p></div>\n').map(([kind, seen]) => [kind, seen])).toEqual([
      ['html', 'one'],
      ['html', 'two'],
    ]);
  });
});

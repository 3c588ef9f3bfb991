import { describe, expect, it } from 'vitest';
import {
  type FoundPiece,
  imagesIn,
  matchImages,
  offered,
  partsOf,
  partText,
  shownNodes,
} from '../../src/dashboard/pages/entry/page/pieces.ts';
import fc from '../support/properties.ts';

const piece = (kind: string, start_line: number, end_line = start_line): FoundPiece => ({
  kind,
  selector: 'body > p',
  text: '',
  start_line,
  end_line,
  field: null,
  is_changed: false,
});

/** The texts of the parts that pieces stand for; the body begins with line 4 of its file. */
const textsOf = (body: string, ...pieces: FoundPiece[]) =>
  partsOf(body, pieces, 4).map(({ from, to }) => body.slice(from, to));

describe('partsOf', () => {
  it('gives the block of each piece, of an item its text without the mark, of a cell its table', () => {
    const body = `Words and
more words.

# Title

Other title
-----

- one
  - two
- [ ] three

> quoted
> twice

| a | b |
|---|---|
| c | d |

\`\`\`js
code
\`\`\`
`;
    expect(
      textsOf(
        body,
        piece('paragraph', 4, 5),
        piece('heading', 7),
        piece('heading', 9, 10),
        piece('list_item', 12),
        piece('list_item', 13),
        piece('list_item', 14),
        piece('paragraph', 16, 17),
        piece('table_cell', 21),
        piece('code', 23, 25),
      ),
    ).toEqual([
      'Words and\nmore words.',
      '# Title',
      'Other title\n-----',
      'one',
      'two',
      '[ ] three',
      'quoted\n> twice',
      '| a | b |\n|---|---|\n| c | d |',
      '```js\ncode\n```',
    ]);
  });

  it('gives of a list of definitions each term and each definition, without its mark', () => {
    const body = 'Pear\nQuince\n: A fruit,\n  of a tree\n:   A colour\n';
    const of = (tag: string, ...lines: [number, number?]) => ({
      ...piece('paragraph', ...lines),
      selector: `body > dl > ${tag}:nth-child(1)`,
    });
    expect(textsOf(body, of('dt', 4), of('dt', 5), of('dd', 6, 7), of('dd', 8))).toEqual([
      'Pear',
      'Quince',
      'A fruit,\n  of a tree',
      'A colour',
    ]);
  });

  it('finds the place of a cell in its table, whatever the table lies in', () => {
    const body = '> | a | b |\n> |---|---|\n> | c | d |\n';
    const cell = (line: number, column: number) => ({
      ...piece('table_cell', line),
      selector: `body > table > tr > t${line === 4 ? 'h' : 'd'}:nth-child(${column})`,
    });
    const parts = partsOf(body, [cell(4, 1), cell(6, 2), { ...cell(6, 1), selector: 'body > div' }], 4);
    expect(parts.map((part) => part.cell)).toEqual([{ row: -1, column: 0 }, { row: 0, column: 1 }, undefined]);
    const table = '| a | b |\n|---|---|\n| c | d |';
    expect(parts.map((part) => partText(table, part))).toEqual(['a', 'd', table]);
    expect(partText(table, { cell: { row: 7, column: 7 } })).toBe(null);
  });

  it('leaves out fields, what was changed since it was built, and lines that are not of the body', () => {
    const body = 'Words.\n';
    expect(
      textsOf(
        body,
        { ...piece('field', 1), field: '/title' },
        { ...piece('paragraph', 4), is_changed: true },
        { ...piece('paragraph', 4), start_line: null },
        piece('paragraph', 3),
        piece('paragraph', 90),
      ),
    ).toEqual([]);
  });

  it('gives parts of the body, whatever the lines are', () => {
    const lines = fc.array(fc.constantFrom('- a', '> b', '', '| c | d |', '|---|---|', 'text', '  - e', '# f', '```'));
    fc.assert(
      fc.property(
        lines,
        fc.nat(12),
        fc.nat(12),
        fc.constantFrom('paragraph', 'list_item', 'table_cell', 'html'),
        (all, start, end, kind) => {
          const body = all.join('\n');
          for (const { from, to } of partsOf(body, [piece(kind, start, end)], 1)) {
            expect(from).toBeGreaterThanOrEqual(0);
            expect(to).toBeGreaterThanOrEqual(from);
            expect(to).toBeLessThanOrEqual(body.length);
          }
        },
      ),
    );
  });
});

describe('offered', () => {
  it('leaves out what was changed since it was built, days, pictures of fields, and what is no text', () => {
    const values: Record<string, unknown> = { '/title': 'Frost', '/date': '2026-05-01', '/cover': '/a.png', '/n': 3 };
    const field = (name: string, selector = 'body > p') => ({ ...piece('field', 1), field: name, selector });
    const pieces = [
      piece('paragraph', 4),
      { ...piece('paragraph', 5), is_changed: true },
      { ...piece('image', 6), selector: 'body > p > img:nth-child(1)' },
      field('/title'),
      field('/date'),
      field('/cover', 'body > img:nth-child(2)'),
      field('/n'),
    ];
    expect(offered(pieces, (pointer) => values[pointer]).map(({ id, isImage }) => [id, isImage])).toEqual([
      [0, false],
      [2, true],
      [3, false],
    ]);
  });
});

describe('shownNodes', () => {
  const shown = (text: string, part = text) => {
    const from = text.indexOf(part);
    return shownNodes(text, { from, to: from + part.length });
  };

  it('makes elements of Markdown, and text of HTML', () => {
    expect(shown('A *b* **c** `d` [e](/f) <b>g</b>')).toEqual([
      {
        tag: 'p',
        children: [
          'A ',
          { tag: 'em', children: ['b'] },
          ' ',
          { tag: 'strong', children: ['c'] },
          ' ',
          { tag: 'code', children: ['d'] },
          ' ',
          { tag: 'a', url: '/f', children: ['e'] },
          ' ',
          '<b>',
          'g',
          '</b>',
        ],
      },
    ]);
  });

  it('follows no address that would run something', () => {
    expect(shown('[a](javascript:alert(1)) ![b](javascript:1)')).toEqual([
      { tag: 'p', children: ['a', ' ', { tag: 'img', alt: 'b', children: [] }] },
    ]);
  });

  it('finds addresses by reference, wherever they are defined', () => {
    expect(shown('See [a][b].\n\n[b]: https://portico.example/b\n', 'See [a][b].')).toEqual([
      { tag: 'p', children: ['See ', { tag: 'a', url: 'https://portico.example/b', children: ['a'] }, '.'] },
    ]);
  });

  it('takes the marks of quotes and the indentation of items from further lines', () => {
    expect(shown('> one\n> two\n', 'one\n> two')).toEqual([{ tag: 'p', children: ['one\ntwo'] }]);
    expect(shown('- one\n  two\n', 'one\n  two')).toEqual([{ tag: 'p', children: ['one\ntwo'] }]);
  });

  it('shows what a piece was split into, block by block', () => {
    expect(shown('One.\n\n## Two\n\n- three\n').map(({ tag }) => tag)).toEqual(['p', 'h2', 'ul']);
    expect(shown('One.', '')).toEqual([]);
  });
});

describe('matchImages', () => {
  it('gives each image the one that it was built as, and none to a picture that is new', () => {
    const text = 'A ![a](/a.png) ![b](/b.png) ![c](/a.png)';
    const nodes = shownNodes(text, { from: 0, to: text.length });
    matchImages(nodes, ['/b.png', '/a.png']);
    expect(imagesIn(nodes).map(({ alt, built }) => [alt, built])).toEqual([
      ['a', 1],
      ['b', 0],
      ['c', undefined],
    ]);
  });
});

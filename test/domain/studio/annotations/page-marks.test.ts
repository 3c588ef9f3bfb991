import { describe, expect, it } from 'vitest';
import { readPage } from '../../../../src/domain/studio/annotations/annotate.ts';

const built = `---
title: Late frost
seo:
  title: The frost of May
steps:
  - name: Dig
  - name: Sow
draft: true
---

The frost came in the night and took the pear blossom.

Yes.

Yes.
`;
const source = {
  path: 'content/posts/late-frost.md',
  entry: 'posts/late-frost',
  framework: null,
  built,
  current: built,
};

/** What is found on a page whose main part is given. */
function placesOn(main: string) {
  const { annotated } = readPage(`<body><main>${main}</main></body>`, source);
  return (annotated?.blocks ?? []).map(({ kind, selector, field, start_line, text }) =>
    kind === 'field' ? [field, selector.split(' > ').at(-1), text] : [kind, selector.split(' > ').at(-1), start_line],
  );
}

describe('a mark of a field', () => {
  it.each([
    ['data-portico-field="seo.title"', '/seo/title'],
    ['data-portico-field="/seo/title"', '/seo/title'],
    ['data-portico-field="steps[1].name"', '/steps/1/name'],
    ['data-sb-field-path="seo.title"', '/seo/title'],
    ['data-sb-field-path="content/posts/late-frost.md:steps.0.name#text()"', '/steps/0/name'],
    ['data-tina-field="a1b2---seo.title"', '/seo/title'],
    ['data-cslp="post.bltf12.en-us.seo.title"', '/seo/title'],
    ['data-cms-field="seo.title"', '/seo/title'],
  ])('%s names what its element shows, wherever that stands', (attribute, field) => {
    expect(placesOn(`<p>By the way: <span ${attribute}>What it SHOWS</span></p>`)).toEqual([
      [field, 'span:nth-child(1)', 'what it shows'],
    ]);
  });

  it('of Stackbit may be relative to the element around it', () => {
    expect(placesOn('<div data-sb-field-path="steps.1"><b data-sb-field-path=".name">Sow</b></div>')).toEqual([
      ['/steps/1/name', 'b:nth-child(1)', 'sow'],
    ]);
  });

  it('wins over the text of the page, and is none for what is no text of the frontmatter', () => {
    expect(placesOn('<h1>Late frost</h1><h2 data-portico-field="title">Late frost</h2>')).toEqual([
      ['/title', 'h2:nth-child(2)', 'late frost'],
    ]);
    for (const name of ['draft', 'seo', 'steps', 'gone', '', ' ', '__proto__', 'a b'])
      expect(placesOn(`<p data-portico-field="${name}">Words</p>`)).toEqual([]);
  });

  it('counts only for the entry that is named around it', () => {
    const card = (entry: string) =>
      `<article data-portico-entry="${entry}"><h2 data-portico-field="title">T</h2></article>`;
    expect(placesOn(card('posts/bees'))).toEqual([]);
    expect(placesOn(card('posts/bees') + card('posts/late-frost'))).toEqual([['/title', 'h2:nth-child(1)', 't']]);
    expect(placesOn(card('content/posts/late-frost.md'))).toHaveLength(1);
  });
});

describe('a mark of lines', () => {
  const first = '<p>The frost came in the night and took the pear blossom.</p>';

  it('distinguishes similar elements', () => {
    const second = '<p>Yes.</p><aside></aside><p data-portico-source="content/posts/late-frost.md:15-15">Yes.</p>';
    expect(placesOn(`${first}${second}`)).toContainEqual(['paragraph', 'p:nth-child(4)', 15]);
    expect(placesOn(`<p data-portico-source="posts/late-frost.md:13">No more</p>`)).toEqual([
      ['paragraph', 'p:nth-child(1)', 13],
    ]);
  });

  it('is none for other files, other kinds, and lines without a block', () => {
    for (const mark of [
      'content/posts/bees.md:13-13',
      'content/posts/late-frost.md:900',
      'frost.md:13',
      '13-13',
      ':13',
    ])
      expect(placesOn(`<p data-portico-source="${mark}">Words</p>`)).toEqual([]);
    expect(placesOn('<h2 data-portico-source="content/posts/late-frost.md:13-13">Words</h2>')).toEqual([]);
  });
});

it('the one entry that a page names is that of the page, and none where it names several', () => {
  const marked = (html: string) => readPage(html, null).marked;
  expect(marked('<main data-portico-entry="posts/a"><p data-portico-field="title">A</p></main>')).toBe('posts/a');
  expect(marked('<main data-sb-object-id="content/a.md"></main>')).toBe('content/a.md');
  expect(marked('<p data-portico-entry="a"></p><p data-portico-entry="b"></p>')).toBeNull();
  expect(marked('<p>A</p>')).toBeNull();
});

it('marks within marks, without end, take no time', () => {
  const html = `${'<div data-portico-field="title">'.repeat(20_000)}words`;
  const start = performance.now();
  expect(readPage(html, source).annotated?.blocks).toHaveLength(1);
  expect(performance.now() - start).toBeLessThan(2_000);
});

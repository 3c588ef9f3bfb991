import { describe, expect, it } from 'vitest';
import { encodeCursor, pageFrom, wholeWindowOf, windowOf } from '../../src/kernel/paging.ts';
import { linkHeader } from '../../src/rest/router.ts';
import fc from '../support/properties.ts';

const list = (length: number) => Array.from({ length }, (_, at) => at);
const cut = (all: number[], input: Parameters<typeof windowOf>[0]) => {
  const window = windowOf(input);
  return pageFrom(all.slice(window.offset, window.offset + window.limit), all.length, window, window.version);
};

describe('a window of a list', () => {
  it('begins with the first 30', () => {
    expect(windowOf({})).toEqual({ offset: 0, limit: 30, page: 1, version: null });
  });

  it('is at most 100 long', () => {
    expect(windowOf({ per_page: 1_000_000 }).limit).toBe(100);
    expect(windowOf({ per_page: 100 }).limit).toBe(100);
  });

  it('visits each item once, page by page', () => {
    fc.assert(
      fc.property(fc.nat(300), fc.integer({ min: 1, max: 150 }), (length, per_page) => {
        const all = list(length);
        const pages = list(Math.ceil(length / Math.min(per_page, 100)) + 1).map((at) =>
          cut(all, { page: at + 1, per_page }),
        );
        expect(pages.flatMap(({ items }) => items)).toEqual(all);
        expect(pages.at(-1)?.items).toEqual([]);
        expect(pages.at(-1)?.has_next_page).toBe(false);
      }),
    );
  });

  it('visits each item once, cursor by cursor, from any of them', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 50 }), (length, per_page) => {
        const all = list(length);
        const seen: number[] = [];
        for (let page = cut(all, { per_page }); ; ) {
          seen.push(...page.items);
          const after = page.cursors.at(-1);
          expect(page.has_next_page).toBe(seen.length < length);
          if (!page.has_next_page || after === undefined) break;
          page = cut(all, { per_page, after });
          expect(page.has_previous_page).toBe(true);
        }
        expect(seen).toEqual(all);
      }),
    );
  });

  it('keeps the version of the list in its cursors', () => {
    const version = 'a'.repeat(40);
    const after = encodeCursor(version, 41);
    expect(windowOf({ after, per_page: 10 })).toEqual({ offset: 42, limit: 10, page: 5, version });
    expect(pageFrom(['x'], 100, windowOf({ after }), version).cursors).toEqual([encodeCursor(version, 42)]);
  });

  it.each([
    '',
    'x',
    '!!',
    encodeCursor(null, 1).slice(1),
    encodeCursor('no oid', 1),
    encodeCursor(null, -1),
    encodeCursor(null, 1e9),
    encodeCursor('a', 1.5),
  ])('refuses the cursor %j', (after) => {
    expect(() => windowOf({ after })).toThrow(/^after: is not a cursor this list gave out$/);
  });

  it('never takes any text for a cursor but one it made', () => {
    fc.assert(
      fc.property(fc.string(), (after) => {
        let code = 'taken';
        try {
          expect(windowOf({ after }).offset).toBeGreaterThan(0);
        } catch (error) {
          code = (error as { code: string }).code;
        }
        expect(['taken', 'invalid_request']).toContain(code);
      }),
    );
  });

  it('takes a page or a cursor, never both', () => {
    expect(() => windowOf({ page: 1, after: encodeCursor(null, 0) })).toThrow(/^after: excludes page/);
  });
});

describe('a list that is answered whole', () => {
  it('is whole, up to 1,000 items, while no page is requested', () => {
    expect(wholeWindowOf({})).toEqual({ offset: 0, limit: 1_000, page: 1, version: null });
    for (const input of [{ page: 1 }, { per_page: 30 }, { page: 2, per_page: 500 }, { after: encodeCursor(null, 4) }])
      expect(wholeWindowOf(input)).toEqual(windowOf(input));
  });

  const links = (length: number, url = '/list?branch=a') => {
    const window = wholeWindowOf({});
    const { items, ...page } = pageFrom(list(length).slice(0, window.limit), length, window);
    return { count: items.length, links: linkHeader(url, { items, ...page }).split(', ') };
  };

  it('is its own first and last page while all of it fits', () => {
    const own = ['</list?branch=a>; rel="first"', '</list?branch=a>; rel="last"'];
    expect(links(0)).toEqual({ count: 0, links: own });
    expect(links(1_000)).toEqual({ count: 1_000, links: own });
  });

  it('goes on behind the 1,000th item in pages of 100', () => {
    expect(links(1_001)).toEqual({
      count: 1_000,
      links: [
        '</list?branch=a&page=1&per_page=100>; rel="first"',
        '</list?branch=a&page=11&per_page=100>; rel="next"',
        '</list?branch=a&page=11&per_page=100>; rel="last"',
      ],
    });
  });
});

import { describe, expect, it } from 'vitest';
import {
  type FieldRules,
  listKindOf,
  mergeFrontmatter,
} from '../../../../src/domain/studio/merge/merge-frontmatter.ts';
import { instantOf } from '../../../../src/domain/studio/schema/dates.ts';

type Values = Record<string, unknown>;
const merge = (base: Values | null, current: Values, incoming: Values, rules?: FieldRules) => {
  const { frontmatter, open, resolved } = mergeFrontmatter(base, current, incoming, rules);
  return { frontmatter, open, resolved };
};

describe('maps and scalars', () => {
  it('takes what one side changed, and says what was merged', () => {
    expect(merge({ a: 1, b: 1, c: 1 }, { a: 2, b: 1 }, { a: 1, b: 1, c: 1, d: 4 })).toEqual({
      frontmatter: { a: 2, b: 1, d: 4 },
      open: [],
      resolved: ['/a', '/c', '/d'],
    });
  });
  it('recurses, also into maps both sides added', () => {
    expect(
      merge({ s: { a: 1 } }, { s: { a: 1, b: 2 }, n: { x: 1 } }, { s: { a: 3 }, n: { y: 1 } }).frontmatter,
    ).toEqual({
      s: { a: 3, b: 2 },
      n: { x: 1, y: 1 },
    });
  });
  it('puts keys both sides added in current order first', () => {
    expect(Object.keys(merge({ a: 1 }, { a: 1, z: 1 }, { b: 1, a: 1 }).frontmatter)).toEqual(['a', 'z', 'b']);
  });
  it('reports a scalar both changed', () => {
    expect(merge({ 'a/b': 'x' }, { 'a/b': 'y' }, { 'a/b': 'z' }).open).toEqual([
      { field: '/a~1b', base: 'x', current: 'y', incoming: 'z' },
    ]);
  });
  it('reports a key that one side deleted and the other changed, leaving out what is not there', () => {
    expect(merge({ a: 1 }, {}, { a: 2 })).toEqual({
      frontmatter: {},
      open: [{ field: '/a', base: 1, incoming: 2 }],
      resolved: [],
    });
  });
  it('distinguishes null from a missing key', () => {
    expect(merge({ a: 1 }, { a: null }, {}).open).toEqual([{ field: '/a', base: 1, current: null }]);
  });
  it('keeps a key named __proto__ a key', () => {
    const own = JSON.parse('{"__proto__": {"a": 1}}');
    expect(Object.keys(merge({}, { b: 1 }, own).frontmatter)).toEqual(['b', '__proto__']);
  });
});

describe('lists', () => {
  it('merges sets by name', () => {
    expect(merge({ tags: ['a', 'b'] }, { tags: ['c', 'a', 'b'] }, { tags: ['b', 'd'] })).toEqual({
      frontmatter: { tags: ['c', 'b', 'd'] },
      open: [],
      resolved: ['/tags'],
    });
  });
  it('merges sets both sides added', () => {
    expect(merge({}, { keywords: ['a'] }, { keywords: ['b'] }).frontmatter).toEqual({ keywords: ['a', 'b'] });
  });
  it('takes a list with duplicates, or of another name, whole', () => {
    expect(merge({ tags: ['a', 'a'] }, { tags: ['a'] }, { tags: ['b'] }).open).toHaveLength(1);
    expect(merge({ steps: ['a'] }, { steps: ['a', 'b'] }, { steps: ['c', 'a'] }).open).toHaveLength(1);
  });
  it('lets the schema say which lists are sets', () => {
    const item = { required: false, list: true };
    const listKind = listKindOf([
      { ...item, name: 'colours', type: 'enum', options: ['red', 'blue'] },
      { ...item, name: 'groups', type: 'object', fields: [{ ...item, name: 'members', type: 'reference' }] },
    ]);
    expect(merge({}, { colours: ['red'] }, { colours: ['blue'] }, { listKind }).frontmatter).toEqual({
      colours: ['red', 'blue'],
    });
    expect([listKind('/groups/0/members'), listKind('/groups'), listKind('/other')]).toEqual([
      'set',
      undefined,
      undefined,
    ]);
    expect(merge({}, { tags: ['a'] }, { tags: ['b'] }, { listKind: () => 'list' }).open).toHaveLength(1);
  });

  const links = (...ids: string[]) => ids.map((id) => ({ id, url: `/${id}` }));
  const ids = (merged: { frontmatter: Values }) => (merged.frontmatter.links as { id: string }[]).map(({ id }) => id);
  it('merges lists of maps item by item', () => {
    const base = links('a', 'b', 'c');
    const merged = merge(
      { links: base },
      { links: [{ id: 'a', url: '/new' }, ...links('b', 'c', 'mine')] },
      { links: [{ id: 'a', url: '/a', text: 'A' }, ...links('first', 'c', 'theirs')] },
    );
    expect(merged.open).toEqual([]);
    expect(merged.frontmatter.links).toEqual([
      { id: 'a', url: '/new', text: 'A' },
      ...links('first', 'c', 'mine', 'theirs'),
    ]);
    expect(merged.resolved).toEqual(['/links']);
  });
  it('orders by current, unless only incoming moved items', () => {
    const [abc, cab, bac] = [links('a', 'b', 'c'), links('c', 'a', 'b'), links('b', 'a', 'c')];
    const changed = [{ id: 'a', url: '/new' }, ...links('b', 'c')];
    expect(ids(merge({ links: abc }, { links: cab }, { links: bac }))).toEqual(['c', 'a', 'b']);
    expect(ids(merge({ links: abc }, { links: changed }, { links: cab }))).toEqual(['c', 'a', 'b']);
  });
  it('counts items as base does, whatever moved', () => {
    const [a, b] = links('a', 'b');
    const { open } = merge(
      { links: [a, b] },
      { links: [{ id: 'b', url: '/mine' }, a] },
      {
        links: [
          { id: 'a', url: '/x' },
          { id: 'b', url: '/theirs' },
        ],
      },
    );
    expect(open).toEqual([{ field: '/links/1/url', base: '/b', current: '/mine', incoming: '/theirs' }]);
  });
  it('reports an item one side deleted and the other changed', () => {
    const { open, frontmatter } = merge(
      { links: links('a', 'b') },
      { links: links('b', 'c') },
      { links: [{ id: 'a', url: '/x' }, ...links('b')] },
    );
    expect(open).toEqual([{ field: '/links/0', base: { id: 'a', url: '/a' }, incoming: { id: 'a', url: '/x' } }]);
    expect(frontmatter.links).toEqual(links('b', 'c'));
  });
  it('takes a list whole when an identity is missing or used twice', () => {
    const twice = [{ id: 1 }, { id: 1 }];
    expect(merge({ links: twice }, { links: [{ id: 1 }] }, { links: [...twice, { id: 2 }] }).open).toHaveLength(1);
    expect(merge({ links: [{ name: 'a' }] }, { links: [{ url: 'x' }] }, { links: [] }).open).toHaveLength(1);
  });
});

describe('dates of the last change', () => {
  it('takes the later one and says so', () => {
    const merged = merge({ lastmod: '2024-01-01' }, { lastmod: '2024-03-01' }, { lastmod: '2024-02-01T10:00:00Z' });
    expect(merged).toEqual({ frontmatter: { lastmod: '2024-03-01' }, open: [], resolved: ['/lastmod'] });
  });
  it('compares instants, not texts', () => {
    expect(merge({}, { updated: '2024-01-01T10:00:00+02:00' }, { updated: '2024-01-01 09:00:00' }).frontmatter).toEqual(
      { updated: '2024-01-01 09:00:00' },
    );
    expect(instantOf('2024-1-5 1:02:03.5 +0130')).toBe(Date.parse('2024-01-04T23:32:03.500Z'));
    expect([instantOf('2024-02-30'), instantOf('soon'), instantOf(20240101)]).toEqual([null, null, null]);
  });
  it('reports them when the setting is off, or one is no date', () => {
    const sides = [{ updated: '2024-01-01' }, { updated: '2024-01-02' }, { updated: '2024-01-03' }] as const;
    expect(merge(...sides, { laterDates: false }).open).toHaveLength(1);
    expect(merge(sides[0], sides[1], { updated: 'soon' }).open).toHaveLength(1);
    expect(merge({ date: '2024-01-01' }, { date: '2024-01-02' }, { date: '2024-01-03' }).open).toHaveLength(1);
  });
});

describe('without a base', () => {
  it('passes what is equal and reports the rest, key by key', () => {
    const merged = merge(
      null,
      { a: 1, b: { c: 1, d: 1 }, tags: ['x'] },
      { a: 1, b: { c: 1, d: 2 }, tags: ['y'], e: 1 },
    );
    expect(merged.open).toEqual([
      { field: '/b/d', current: 1, incoming: 2 },
      { field: '/tags', current: ['x'], incoming: ['y'] },
      { field: '/e', incoming: 1 },
    ]);
  });
});

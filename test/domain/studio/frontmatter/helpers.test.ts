import { describe, expect, it } from 'vitest';
import { applyMergePatch } from '../../../../src/domain/studio/frontmatter/merge-patch.ts';
import { parseFile } from '../../../../src/domain/studio/frontmatter/parse-file.ts';
import { summarize } from '../../../../src/domain/studio/frontmatter/summarize.ts';
import { foldText, words } from '../../../../src/domain/studio/frontmatter/words.ts';

describe('applyMergePatch', () => {
  // RFC 7396 appendix A, the cases whose target and patch are objects
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j with %j is %j', (current, patch, wanted) => expect(applyMergePatch(current, patch)).toEqual(wanted));

  it.each([
    [{ a: null }, { a: null }, { a: null }],
    [{ a: { b: null, c: 1 } }, { a: { b: null, c: null } }, { a: { b: null } }],
    [{ a: { b: { c: null } } }, { a: { b: { c: null, d: 1 } } }, { a: { b: { c: null, d: 1 } } }],
    [{ a: null }, { a: { b: null } }, { a: {} }],
    [{ a: null }, { b: null }, { a: null }],
    [{}, JSON.parse('{"constructor": null, "toString": null}'), {}],
  ])('keeps a null that is there already: %j with %j is %j', (current, patch, wanted) => {
    expect(applyMergePatch(current, patch)).toEqual(wanted);
  });

  it('removes a null by unset, at any depth', () => {
    expect(applyMergePatch({ a: null, b: { c: null, d: 1 } }, { a: null }, ['/a', '/b/c'])).toEqual({ b: { d: 1 } });
  });

  it('looks at the names of a pointer as far as they lead somewhere', () => {
    const pointer = `/a${'/b'.repeat(1_000_000)}`;
    expect(applyMergePatch({ a: 1 }, {}, [pointer, '/c/d'])).toEqual({ a: 1 });
    expect(applyMergePatch({ a: { b: 1 }, c: [] }, {}, [pointer, '/c/1/d'])).toEqual({ a: { b: 1 }, c: [] });
  });

  it('removes what unset names; positions count before removal', () => {
    const current = { a: { 'x/y': 1, '~': 2 }, list: ['a', 'b', 'c'], keep: 1 };
    expect(applyMergePatch(current, {}, ['/a/x~1y', '/a/~0', '/list/0', '/list/1', '/none/at/all'])).toEqual({
      a: {},
      list: ['c'],
      keep: 1,
    });
    expect(current.list).toHaveLength(3);
  });

  it.each(['a', '', '/a~2', '/list/x', '/list/01'])('refuses the pointer %j', (pointer) => {
    expect(() => applyMergePatch({ list: [1] }, {}, [pointer])).toThrow(/^unset\.0: /);
  });

  it('takes __proto__ for a name like any other', () => {
    const merged = applyMergePatch({}, JSON.parse('{"__proto__": {"polluted": 1}}'));
    expect(Object.keys(merged)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe('summarize', () => {
  const of = (file: string, slug = 'guides/getting-started') => summarize(parseFile(Buffer.from(file), 'a.md'), slug);
  it('takes title, name, the first heading, the slug, in this order', () => {
    expect(of('---\nname: N\ntitle: T\n---\n# H').title).toBe('T');
    expect(of('---\nname: N\n---\n# H').title).toBe('N');
    expect(of('```sh\n# not this\n```\n# The *H* {#id}\n').title).toBe('The *H*');
    expect(of('Text').title).toBe('Getting started');
    expect(of('Text', '2024-05-01-hello_world').title).toBe('Hello world');
    expect(of('Text', 'docs/intro/index').title).toBe('Intro');
    expect(of('---\na: [\n---\n').title).toBe('Getting started');
  });
  it('is a draft by draft: true or published: false', () => {
    expect([
      of('---\ndraft: true\n---\n').draft,
      of('---\npublished: false\n---\n').draft,
      of('---\ndraft: "true"\n---\n').draft,
    ]).toEqual([true, true, false]);
  });
});

describe('words', () => {
  it('folds case and accents', () => {
    expect(foldText('Élan ﬁne ÅNGSTRÖM İ')).toBe('elan fine angstrom i');
    expect(words('Élan, élan: x1 — 日本')).toEqual(['elan', 'x1', '日', '本', '日本']);
  });
  it('looks at the first 256 KiB', () => {
    expect(words(`${'a '.repeat(131_072)}beyond`)).toEqual(['a']);
    expect(words(`${'a '.repeat(131_069)}inside`)).toEqual(['a', 'inside']);
  });
});

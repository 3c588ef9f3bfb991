import { diff } from '@codemirror/merge';
import { describe, expect, it } from 'vitest';
import { type Fields, same, withValue } from '../../src/dashboard/lib/json.ts';
import { applyEdits, type Content, changeOf, rebase, retitled } from '../../src/dashboard/pages/entry/rebase.ts';
import { valueAt } from '../../src/lib/json-pointer.ts';
import fc from '../support/properties.ts';

const scalar = fc.oneof(fc.string({ maxLength: 4 }), fc.integer({ min: 0, max: 3 }), fc.boolean());
const key = fc.constantFrom('a', 'b', 'c', '__proto__', 'd/e', 'f~g');
const { fields } = fc.letrec<{ fields: Fields; value: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 2 }, scalar, fc.array(scalar, { maxLength: 3 }), tie('fields')),
  fields: fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs)),
}));
const body = fc
  .array(fc.constantFrom('one', 'two', 'three', '', 'four'), { maxLength: 8 })
  .map((lines) => lines.join('\n'));
const content = fc.record({ fields, body, raw: fc.constant(null) }) as fc.Arbitrary<Content>;

/** RFC 7396, and the pointers to remove, as the server applies them. */
function patched(base: Fields, patch: Fields): Fields {
  let done = base;
  for (const [name, value] of Object.entries(patch)) {
    const before = Object.hasOwn(done, name) ? done[name] : undefined;
    const isMap = (one: unknown): one is Fields => typeof one === 'object' && one !== null && !Array.isArray(one);
    const next = isMap(before) && isMap(value) ? patched(before, value) : value;
    done = Object.fromEntries([...Object.entries(done).filter(([other]) => other !== name), [name, next]]);
  }
  return done;
}

describe('changeOf()', () => {
  it('says nothing of equal contents, and leads from any content to any other', () => {
    fc.assert(
      fc.property(content, content, (base, wanted) => {
        expect(changeOf(base, base)).toBeNull();
        const change = changeOf(base, wanted);
        const unset = (change?.unset ?? []).reduce((done, pointer) => withValue(done, pointer, undefined), base.fields);
        const reached = patched(unset, change?.frontmatter ?? {});
        expect(same(reached, wanted.fields)).toBe(true);
        expect(change?.body ?? base.body).toBe(wanted.body);
      }),
    );
  });

  it('names the whole of the fields when a null is to be stored, which a merge patch cannot', () => {
    const base = { fields: { a: 1 }, body: '', raw: null };
    const fields = { a: { b: null } };
    expect(changeOf(base, { ...base, fields })).toEqual({ frontmatter: fields, mode: 'replace' });
  });
});

describe('rebase()', () => {
  it('gives what the other has where nothing was changed here, and what is here where nothing was changed there', () => {
    fc.assert(
      fc.property(content, content, (base, other) => {
        const taken = rebase(base, base, other, diff);
        expect(taken && same(taken.content.fields, other.fields)).toBe(true);
        expect(taken?.content.body).toBe(other.body);
        const kept = rebase(base, other, base, diff);
        expect(kept && same(kept.content.fields, other.fields)).toBe(true);
        expect(kept?.content.body).toBe(other.body);
      }),
    );
  });

  it('either keeps every change of both sides or says that they clash, and its edits lead to its body', () => {
    fc.assert(
      fc.property(content, content, content, (base, mine, theirs) => {
        const merged = rebase(base, mine, theirs, diff);
        if (merged === null) return;
        expect(applyEdits(mine.body, merged.edits)).toBe(merged.content.body);
        for (const side of [mine, theirs]) {
          for (const name of Object.keys(side.fields)) {
            const [before, after] = [base.fields, side.fields].map((one) =>
              Object.hasOwn(one, name) ? one[name] : undefined,
            );
            const isMap = typeof after === 'object' && after !== null && !Array.isArray(after);
            if (!isMap && !same(before, after))
              expect(
                same(valueAt(merged.content.fields, `/${name.replace('~', '~0').replace('/', '~1')}`), after),
              ).toBe(true);
          }
        }
      }),
    );
  });

  it('merges changes of different lines and finds those of the same', () => {
    const base = { fields: {}, body: 'one\ntwo\nthree', raw: null };
    const of = (text: string) => ({ ...base, body: text });
    expect(rebase(base, of('ONE\ntwo\nthree'), of('one\ntwo\nTHREE'), diff)?.content.body).toBe('ONE\ntwo\nTHREE');
    expect(rebase(base, of('ONE\ntwo\nthree'), of('won\ntwo\nthree'), diff)).toBeNull();
  });
});

describe('a new entry of another title', () => {
  const template = (title: string, name: string): Content => ({
    fields: { ...(title && { title }), alias: `/old/${name}`, mood: 'calm' },
    body: `About ${name}.`,
    raw: null,
  });
  const begun = template('', 'untitled');

  it('has what the template writes of its title', () => {
    const mine = { ...begun, fields: { ...begun.fields, title: 'First snow' } };
    const next = template('First snow', 'first-snow');
    expect(retitled(mine, begun, next, 'First snow')).toEqual(next);
  });

  it('keeps what was edited, and the title that is typed meanwhile', () => {
    const mine = { fields: { title: 'Fi', alias: '/mine', mood: 'wild' }, body: 'Mine.', raw: null };
    expect(retitled(mine, begun, template('First', 'first'), 'First')).toEqual(mine);
    const untouched = { ...template('Fi', 'fi'), fields: { ...template('Fi', 'fi').fields } };
    expect(retitled(untouched, template('Fi', 'fi'), template('First', 'first'), 'First')).toEqual({
      fields: { title: 'Fi', alias: '/old/first', mood: 'calm' },
      body: 'About first.',
      raw: null,
    });
  });
});

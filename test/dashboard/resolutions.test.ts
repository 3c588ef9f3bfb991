import { describe, expect, it } from 'vitest';
import type { FileConflictFragment } from '../../src/dashboard/documents.ts';
import { type Choice, isSettled, piecesOf, resolutionsOf } from '../../src/dashboard/parts/resolutions.ts';
import fc from '../support/properties.ts';

const sha = fc.option(fc.constantFrom('1111111', '2222222', '3333333'));
const value = fc.oneof(fc.string({ maxLength: 4 }), fc.integer({ max: 9 }), fc.constant(null), fc.constant(['x']));
const sides = { base: value, current: value, incoming: value };
const texts = { base: fc.string({ maxLength: 4 }), current: fc.string({ maxLength: 4 }), incoming: fc.string() };
const pointers = fc.uniqueArray(fc.constantFrom('/title', '/a~1b', '/__proto__', '/tags/0'), { maxLength: 4 });
const ids = fc.uniqueArray(fc.constantFrom('h1', 'h2', '__proto__'), { maxLength: 3 });
const conflict = fc
  .record({
    path: fc.constantFrom('content/a.md', 'content/b.md'),
    reason: fc.option(fc.constant('binary')),
    stages: fc.record({ base: sha, current: sha, incoming: sha }),
    fields: pointers.chain((all) =>
      fc.tuple(...all.map((field) => fc.record({ field: fc.constant(field), label: fc.constant('Field'), ...sides }))),
    ),
    hunks: ids.chain((all) =>
      fc.tuple(...all.map((id) => fc.record({ id: fc.constant(id), line: fc.integer({ min: 1, max: 99 }), ...texts }))),
    ),
  })
  .map(
    (one) =>
      ({
        previous_path: null,
        collection: null,
        slug: null,
        title: null,
        type: 'field' as const,
        ...one,
      }) satisfies FileConflictFragment,
  );
const conflicts = fc.uniqueArray(conflict, { maxLength: 2, selector: ({ path }) => path });

const title = { field: '/title', label: 'Title', base: 'A', current: 'B', incoming: 'C' };
const rating = { field: '/rating', label: 'Rating', base: 1, current: 2, incoming: 3 };
const made = (change: Partial<FileConflictFragment>): FileConflictFragment =>
  ({
    ...{ path: 'content/a.md', previous_path: null, collection: 'posts', slug: 'a', type: 'field', reason: null },
    stages: { base: '1', current: '2', incoming: '3' },
    fields: [],
    hunks: [],
    ...change,
  }) as FileConflictFragment;

describe('piecesOf()', () => {
  it('names each field and hunk once, or the file as a whole', () => {
    fc.assert(
      fc.property(conflicts, (all) => {
        const pieces = all.flatMap(piecesOf);
        expect(new Set(pieces.map(({ key }) => key)).size).toBe(pieces.length);
        for (const one of all) {
          const isWhole = one.reason !== null || one.fields.length + one.hunks.length === 0;
          expect(piecesOf(one).map(({ kind, id }) => [kind, id])).toEqual(
            isWhole
              ? [['file', '']]
              : [...one.fields.map(({ field }) => ['field', field]), ...one.hunks.map(({ id }) => ['hunk', id])],
          );
        }
      }),
    );
  });

  it('gives a piece another key when a side of its file moved, so that no choice outlives what it was made for', () => {
    const [before] = piecesOf(made({ fields: [title] }));
    for (const side of ['base', 'current', 'incoming'] as const) {
      const stages = { base: '1', current: '2', incoming: '3', [side]: '4' };
      expect(piecesOf(made({ fields: [title], stages }))[0]?.key).not.toBe(before?.key);
    }
  });

  it('has nothing to go back to where the sides share no ancestor', () => {
    const stages = { base: null, current: '2', incoming: '3' };
    expect(piecesOf(made({ fields: [title], stages }))[0]?.hasBase).toBe(false);
  });
});

describe('isSettled()', () => {
  const [text, number] = piecesOf(made({ fields: [title, rating] }));
  if (!text || !number) throw new Error('The file has two pieces');

  it('requires a choice', () => {
    expect(isSettled(text, undefined)).toBe(false);
    expect(isSettled(text, { take: 'incoming' })).toBe(true);
  });

  it('takes any text by hand where there is text, and JSON alone where there are other values', () => {
    expect(isSettled(text, { text: '{' })).toBe(true);
    expect(isSettled(number, { text: '{' })).toBe(false);
    expect(isSettled(number, { text: '4' })).toBe(true);
  });
});

describe('resolutionsOf()', () => {
  it('sends each choice where it belongs, with the stages it was made for', () => {
    fc.assert(
      fc.property(
        conflicts,
        fc.infiniteStream(fc.constantFrom('base', 'current', 'incoming', 'hand')),
        (all, stream) => {
          const choices: Record<string, Choice> = {};
          for (const { key, kind } of all.flatMap(piecesOf)) {
            const how = stream.next().value as 'base' | 'hand';
            if (how !== 'hand') choices[key] = { take: how };
            else choices[key] = kind === 'file' ? { delete: true } : { text: '"by hand"' };
          }
          const sent = resolutionsOf(all, choices);
          expect(sent.map(({ path, stages }) => ({ path, stages }))).toEqual(
            all.map(({ path, stages }) => ({ path, stages })),
          );
          for (const [at, one] of all.entries()) {
            const { fields = {}, hunks = {}, take, delete: deletes } = sent[at] ?? {};
            for (const piece of piecesOf(one)) {
              const choice = choices[piece.key] as Choice;
              if (piece.kind === 'file') {
                expect({ take, delete: deletes }).toEqual({ take: undefined, delete: undefined, ...choice });
                continue;
              }
              const of = (piece.kind === 'field' ? fields : hunks) as Record<string, unknown>;
              expect(Object.hasOwn(of, piece.id)).toBe(true);
              const written = piece.isText ? '"by hand"' : 'by hand';
              expect(of[piece.id]).toEqual('text' in choice ? { value: written } : choice);
            }
          }
        },
      ),
    );
  });

  it('leaves out what a file has no conflict in', () => {
    const [piece] = piecesOf(made({ fields: [title] }));
    const sent = resolutionsOf([made({ fields: [title] })], { [piece?.key ?? '']: { take: 'current' } });
    expect(sent).toEqual([
      {
        path: 'content/a.md',
        stages: { base: '1', current: '2', incoming: '3' },
        fields: { '/title': { take: 'current' } },
      },
    ]);
  });
});

import { history, redo, undo } from '@codemirror/commands';
import { markdown } from '@codemirror/lang-markdown';
import { EditorState, type StateCommand, type TransactionSpec } from '@codemirror/state';
import { describe, expect, it } from 'vitest';
import { oneBlock, openedPart, openPart, partsIn, setParts } from '../../src/dashboard/pages/entry/page/one-block.ts';
import type { Part } from '../../src/dashboard/pages/entry/page/pieces.ts';
import { move, moveTo } from '../../src/dashboard/pages/entry/visual/blocks.ts';
import fc from '../support/properties.ts';

const doc = 'First words.\n\nSecond words.\n\nThird words.\n';
const partOf = (id: number, text: string): Part => {
  const from = doc.indexOf(text);
  return { id, kind: 'paragraph', from, to: from + text.length };
};
const parts = [partOf(0, 'First words.'), partOf(1, 'Second words.'), partOf(2, 'Third words.')];

/** An editor narrowed to the second of three paragraphs. */
function narrowed(text = doc, all: readonly Part[] = parts): EditorState {
  const state = EditorState.create({ doc: text, extensions: [markdown(), history(), oneBlock(() => {})] });
  return state.update({ effects: [setParts.of(all), openPart.of(1)] }).state;
}
const textOf = (state: EditorState) => {
  const part = openedPart(state);
  return part && state.sliceDoc(part.from, part.to);
};

function run(state: EditorState, command: StateCommand): EditorState {
  let next = state;
  command({
    state,
    dispatch: (transaction) => {
      next = transaction.state;
    },
  });
  return next;
}
const partTexts = (state: EditorState) => partsIn(state).map(({ from, to }) => state.sliceDoc(from, to));

describe('an editor that is narrowed to a part', () => {
  it('takes what is typed in it, at both of its ends too', () => {
    let state = narrowed();
    state = state.update({ changes: { from: parts[1]?.to ?? 0, insert: ' More.' }, userEvent: 'input.type' }).state;
    state = state.update({ changes: { from: parts[1]?.from ?? 0, insert: 'A ' }, userEvent: 'input.type' }).state;
    expect(textOf(state)).toBe('A Second words. More.');
    expect(state.sliceDoc(partsIn(state)[2]?.from, partsIn(state)[2]?.to)).toBe('Third words.');
  });

  it('keeps the selection within it', () => {
    const state = narrowed().update({ selection: { anchor: 0, head: doc.length } }).state;
    expect([state.selection.main.from, state.selection.main.to]).toEqual([parts[1]?.from, parts[1]?.to]);
  });

  it('takes changes of others anywhere, and moves along', () => {
    const state = narrowed().update({ changes: { from: 0, to: 5, insert: 'The very first' } }).state;
    expect(state.sliceDoc(0, 20)).toBe('The very first words');
    expect(textOf(state)).toBe('Second words.');
  });

  it('shows the part in which something is undone', () => {
    let state = narrowed().update({ effects: openPart.of(0) }).state;
    state = state.update({ changes: { from: 0, insert: 'X' }, userEvent: 'input.type' }).state;
    state = state.update({ effects: openPart.of(2) }).state;
    state = run(state, undo);
    expect(state.doc.toString()).toBe(doc);
    expect(openedPart(state)?.id).toBe(0);
  });

  it('changes no byte outside of it, whatever is typed and deleted', () => {
    const change = fc.record({ at: fc.nat(200), length: fc.nat(30), insert: fc.string({ maxLength: 8 }) });
    const blocks = fc.array(fc.stringMatching(/^[a-z *[\]|#>-]{1,20}$/), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(blocks, blocks, blocks, fc.array(change, { maxLength: 10 }), (before, own, after, changes) => {
        const [head, middle, tail] = [before, own, after].map((all) => all.join('\n\n')) as [string, string, string];
        const text = `${head}\n\n${middle}\n\n${tail}`;
        const part = { id: 1, kind: 'paragraph', from: head.length + 2, to: head.length + 2 + middle.length };
        let state = narrowed(text, [part]);
        for (const { at, length, insert } of changes) {
          const from = Math.min(at, state.doc.length);
          const to = Math.min(from + length, state.doc.length);
          state = state.update({ changes: { from, to, insert }, userEvent: 'input.type' }).state;
        }
        const now = state.doc.toString();
        expect(now.startsWith(`${head}\n\n`)).toBe(true);
        expect(now.endsWith(`\n\n${tail}`)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('a part that is moved', () => {
  const texts = ['First words.', 'Second words.', 'Third words.'];
  const changes: [string, (state: EditorState) => TransactionSpec | null, string[]][] = [
    ['up', (state) => move(state, state.selection.main.head, -1), ['Second words.', 'First words.', 'Third words.']],
    ['down', (state) => move(state, state.selection.main.head, 1), ['First words.', 'Third words.', 'Second words.']],
    [
      'before another',
      (state) => moveTo(state, state.selection.main.head, 0),
      ['Second words.', 'First words.', 'Third words.'],
    ],
    [
      'to the end',
      (state) => moveTo(state, state.selection.main.head, null),
      ['First words.', 'Third words.', 'Second words.'],
    ],
  ];
  it.each(changes)('%s takes its text along, and so do undoing and doing it again', (_name, change, expected) => {
    const before = narrowed().update({ selection: { anchor: (parts[1]?.from ?? 0) + 3 } }).state;
    const after = before.update(change(before) ?? {}).state;
    expect(after.doc.toString()).toBe(`${expected.join('\n\n')}\n`);
    expect(partTexts(after)).toEqual(texts);
    expect(textOf(after)).toBe('Second words.');
    expect(after.selection.main.head - (openedPart(after)?.from ?? 0)).toBe(3);
    const undone = run(after, undo);
    expect(undone.doc.toString()).toBe(doc);
    expect(partTexts(undone)).toEqual(texts);
    const again = run(undone, redo);
    expect(again.doc.toString()).toBe(after.doc.toString());
    expect(partTexts(again)).toEqual(texts);
  });

  it('takes along what stands in it, and numbers of items stay in order', () => {
    const text = '1. One\n   - in it\n2. Two\n\nEnd.\n';
    const part = (id: number, words: string): Part => ({
      ...partOf(id, words),
      from: text.indexOf(words),
      to: text.indexOf(words) + words.length,
    });
    const state = narrowed(text, [part(0, 'One'), part(1, 'Two'), part(2, 'in it'), part(3, 'End.')]);
    const at = state.update({ selection: { anchor: text.indexOf('Two') } }).state;
    const after = at.update(move(at, at.selection.main.head, -1) ?? {}).state;
    expect(after.doc.toString()).toBe('1. Two\n2. One\n   - in it\n\nEnd.\n');
    expect(partTexts(after)).toEqual(['One', 'Two', 'in it', 'End.']);
  });

  it('leaves the bytes of all others as they were', () => {
    const words = fc.stringMatching(/^[a-z]{1,8}( [a-z]{1,8}){0,3}$/);
    fc.assert(
      fc.property(
        fc.uniqueArray(words, { minLength: 2, maxLength: 6 }),
        fc.nat(),
        fc.array(fc.boolean(), { maxLength: 8 }),
        (all, at, ways) => {
          const text = `${all.join('\n\n')}\n`;
          let from = 0;
          const own = all.map((one, id) => {
            const part = { id, kind: 'paragraph', from, to: from + one.length };
            from = part.to + 2;
            return part;
          });
          let state = narrowed(text, own).update({ effects: openPart.of(at % all.length) }).state;
          state = state.update({ selection: { anchor: openedPart(state)?.from ?? 0 } }).state;
          for (const isUp of ways) {
            const change = move(state, state.selection.main.head, isUp ? -1 : 1);
            if (change) state = state.update(change).state;
          }
          expect(partTexts(state)).toEqual(all);
          expect(state.doc.toString().trimEnd().split('\n\n').sort()).toEqual([...all].sort());
        },
      ),
    );
  });
});

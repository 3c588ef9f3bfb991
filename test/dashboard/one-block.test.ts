import { history, undo } from '@codemirror/commands';
import { EditorState, type Transaction } from '@codemirror/state';
import { describe, expect, it } from 'vitest';
import { oneBlock, openedPart, openPart, partsIn, setParts } from '../../src/dashboard/pages/entry/page/one-block.ts';
import type { Part } from '../../src/dashboard/pages/entry/page/pieces.ts';
import fc from '../support/properties.ts';

const doc = 'First words.\n\nSecond words.\n\nThird words.\n';
const partOf = (id: number, text: string): Part => {
  const from = doc.indexOf(text);
  return { id, kind: 'paragraph', from, to: from + text.length };
};
const parts = [partOf(0, 'First words.'), partOf(1, 'Second words.'), partOf(2, 'Third words.')];

/** An editor narrowed to the second of three paragraphs. */
function narrowed(text = doc, all: readonly Part[] = parts): EditorState {
  const state = EditorState.create({ doc: text, extensions: [history(), oneBlock(() => {})] });
  return state.update({ effects: [setParts.of(all), openPart.of(1)] }).state;
}
const textOf = (state: EditorState) => {
  const part = openedPart(state);
  return part && state.sliceDoc(part.from, part.to);
};

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
    undo({
      state,
      dispatch: (transaction: Transaction) => {
        state = transaction.state;
      },
    });
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

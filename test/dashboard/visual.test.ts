/** Editing in Visual: what is seen changes as it would in a word processor, and nothing else does. */
import { ensureSyntaxTree } from '@codemirror/language';
import { EditorState, type StateCommand, StateEffect, type TransactionSpec } from '@codemirror/state';
import type { WidgetType } from '@codemirror/view';

import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { bodyLanguage } from '../../src/dashboard/pages/entry/body-language.ts';
import {
  blockAt,
  duplicate,
  insertBlock,
  kinds,
  move,
  moveBefore,
  remove,
  siblingsOf,
  turnInto,
} from '../../src/dashboard/pages/entry/visual/blocks.ts';
import {
  breakBlock,
  breakLine,
  deleteBackward,
  deleteForward,
  placeTyped,
} from '../../src/dashboard/pages/entry/visual/keys.ts';
import { keepMarks } from '../../src/dashboard/pages/entry/visual/marks.ts';
import { reveal, revealed, shownBy } from '../../src/dashboard/pages/entry/visual/shown.ts';
import fc from '../support/properties.ts';

const widget = {} as WidgetType;
const shown = shownBy({
  image: () => widget,
  table: () => widget,
  task: () => widget,
  bullet: () => widget,
  rule: () => widget,
  space: () => widget,
});

/** A text with the cursor at `|`, or a selection between two of them. */
function stateOf(marked: string): EditorState {
  const [first, second] = [marked.indexOf('|'), marked.lastIndexOf('|')];
  const doc = marked.replaceAll('|', '');
  return stateAt(doc, first < 0 ? 0 : first, second === first ? first : second - 1);
}

function stateAt(doc: string, anchor: number, head = anchor): EditorState {
  const parsed = EditorState.create({
    doc,
    selection: { anchor, head: Math.max(head, 0) },
    extensions: bodyLanguage,
  });
  // A state is made with what was read of it in a few milliseconds.
  ensureSyntaxTree(parsed, doc.length, 5_000);
  const fields = [revealed, shown, keepMarks(shown), placeTyped(shown)];
  return parsed.update({ effects: StateEffect.appendConfig.of(fields) }).state;
}

/** The text, with the cursor at `|`. */
function marked({ doc, selection }: EditorState): string {
  const text = doc.toString();
  const { head } = selection.main;
  return `${text.slice(0, head)}|${text.slice(head)}`;
}

function run(command: StateCommand, from: string): string {
  let state = stateOf(from);
  command({
    state,
    dispatch: (transaction) => {
      ({ state } = transaction);
    },
  });
  return marked(state);
}

const type = (from: string, text: string): string => {
  const state = stateOf(from);
  return marked(state.update(state.replaceSelection(text), { userEvent: 'input.type' }).state);
};
const cut = (from: string): string => {
  const state = stateOf(from);
  return marked(state.update(state.replaceSelection(''), { userEvent: 'delete.cut' }).state);
};
const apply = (from: string, change: (state: EditorState, at: number) => TransactionSpec | null): string | null => {
  const state = stateOf(from);
  const spec = change(state, state.selection.main.head);
  return spec && state.update(spec).state.doc.toString();
};

/** What is seen: hidden marks out, joined lines joined. */
function seen(text: string): string {
  const state = stateAt(text, 0);
  let out = '';
  let at = 0;
  for (const { from, to, kind } of state.field(shown).hidden) {
    const isShown = kind === 'mark' && text.slice(from, to) === '\n';
    out += text.slice(at, Math.max(at, from));
    if (kind === 'join') out += ' ';
    if (isShown) out += '\n';
    at = Math.max(at, to);
  }
  return out + text.slice(at);
}

describe('what is shown', () => {
  it.each([
    ['Some *soft* and **loud** and ~~gone~~ `code`.', 'Some soft and loud and gone code.'],
    ['A [link](https://a.example "T") and [ref][x].\n\n[x]: /y', 'A link and ref.\n\n[x]: /y'],
    ['## Head ##', 'Head'],
    ['Head\n====', 'Head'],
    ['One\ntwo\nthree', 'One two three'],
    ['One  \ntwo\\\nthree', 'One\ntwo\nthree'],
    ['> Said\n> so', 'Said so'],
    ['- a\n  b\n- c', 'a b\nc'],
    ['1. a\n\n   b', 'a\n\nb'],
    ['A \\* star', 'A * star'],
    ['<https://a.example>', 'https://a.example'],
    ['```js\nlet a;\n```', 'js\nlet a;\n'],
    ['Note[^1]\n\n[^1]: more', 'Note[^1]\n\n[^1]: more'],
  ])('%j reads %j', (text, expected) => expect(seen(text)).toBe(expected));

  it.each([
    '{{< figure src="a_b_c.png" >}}',
    '{% include note.html *x* %}',
    '<Card title="x">\n\ninside\n\n</Card>',
    ':::note\nwith *marks*\n:::',
    "import A from './a.astro'\n",
    '<div>\n*raw*\n</div>',
    '!!! note\n    *inside*',
  ])('leaves %j as it is written, but for its text', (text) => expect(seen(text)).toBe(text));

  it('shows the Markdown of a block that is revealed, until the cursor leaves it', () => {
    const text = 'One *a*.\n\nTwo *b*.';
    const state = stateOf(text);
    const open = state.update({ effects: reveal({ from: 0, to: 8 }) }).state;
    expect(open.field(shown).hidden.map(({ from }) => from > 8)).toEqual([true, true]);
    const left = open.update({ selection: { anchor: 12 } }).state;
    expect(left.field(shown).hidden).toHaveLength(4);
  });
});

describe('Backspace', () => {
  it.each([
    ['plain te|xt', null],
    ['**bold**|', '**bol|**'],
    ['a **|bold**', 'a|**bold**'],
    ['a **b**|', 'a |'],
    ['[link](/x)|', '[lin|](/x)'],
    ['## |Head', '|Head'],
    ['One\n\n|Two', 'One|Two'],
    ['# One\n\n|Two *x*', '# One|Two *x*'],
    ['One\n===\n\n|Two', 'One|Two\n==='],
    ['One\n\n|\n\nTwo', 'One|\n\nTwo'],
    ['```\ncode\n```\n\n|Two', '```\ncode\n```\n\n|Two'],
    ['a\n|b', null],
    ['![x](y.png)|', null],
  ])('%j becomes %j', (from, expected) => {
    if (expected === null) expect(deleteBackward(shown)({ state: stateOf(from), dispatch: () => {} })).toBe(false);
    else expect(run(deleteBackward(shown), from)).toBe(expected);
  });
});

describe('Delete', () => {
  it.each([
    ['|**bold**', '**|old**'],
    ['One|\n\nTwo', 'One|Two'],
    ['One|\n\n## Two', 'One|Two'],
    ['One|\n\n- Two', 'One|Two'],
    ['One|\n===\n\nTwo', 'One|Two\n==='],
    ['One|\n\n```\ncode\n```', 'One|\n\n```\ncode\n```'],
  ])('%j becomes %j', (from, expected) => expect(run(deleteForward(shown), from)).toBe(expected));
});

describe('Enter', () => {
  it.each([
    ['One| two', 'One\n\n|two'],
    ['**One| two** three', '**One**\n\n**|two** three'],
    ['[One| two](/x)', '[One](/x)\n\n[|two](/x)'],
    ['## He|ad', '## He\n\n|ad'],
    ['## |Head', '\n\n## |Head'],
    ['- a|', '- a\n- |'],
    ['- **a|b**', '- **a**\n- |**b**'],
    ['> a|', '> a\n> |'],
  ])('%j becomes %j', (from, expected) => {
    const now = run(breakBlock, from);
    expect(now.replace('|**b**', '**|b**')).toBe(expected.replace('|**b**', '**|b**'));
  });
  it('with Shift ends a line of the paragraph', () => {
    expect(run(breakLine, 'a|b')).toBe('a  \n|b');
    expect(run(breakLine, '- a|b')).toBe('- a  \n  |b');
    expect(run(breakLine, '> a|b')).toBe('> a  \n> |b');
  });
});

describe('what is typed', () => {
  it.each([
    ['One\n|', 'One\n\nx|'],
    ['One\n|\nTwo', 'One\n\nx|\n\nTwo'],
    ['One\n\n|\n\nTwo', 'One\n\nx|\n\nTwo'],
    ['```\n|\n```', '```\nx|\n```'],
    ['|', 'x|'],
    ['Head\n===|', 'Headx|\n==='],
    ['## Head ##|', '## Headx| ##'],
    ['|```\na\n```', 'x|\n\n```\na\n```'],
    ['```\na\n```|', '```\na\n```\n\nx|'],
    ['---|', '---\n\nx|'],
  ])('%j becomes %j', (from, expected) => expect(type(from, 'x')).toBe(expected));
});

describe('deleting what is selected', () => {
  it.each([
    ['a |b **c| d**', 'a | **d**'],
    ['**a |b** c| d', '**a|**  d'],
    ['**a|** **|b**', '**a|b**'],
    ['**a |b** c **|d**', '**a |d**'],
    ['a |**b**| c', 'a | c'],
    ['**|b|** c', '| c'],
    ['One |two\n\n## He|ad', 'One |ad'],
    ['One |two\n\n```\na|b\n```', 'One |\n\n```\nb\n```'],
    ['```\na|b\n```\n\nOne |two', '```\na|\n```\n\ntwo'],
    ['Head|er\n===\n\nOne |two', 'Head|\n===\n\ntwo'],
  ])('%j becomes %j', (from, expected) => expect(cut(from)).toBe(expected));
});

describe('blocks', () => {
  const text = 'One\n\n## Two\n\n- a\n- b\n\n```\ncode\n```\n';
  it('are paragraphs, items and whatever else stands by itself', () => {
    const state = stateOf(text);
    expect([0, 6, 15, 19, 25].map((at) => blockAt(state, at)?.name)).toEqual([
      'Paragraph',
      'ATXHeading2',
      'ListItem',
      'ListItem',
      'FencedCode',
    ]);
  });
  it.each([
    ['One\n\n|Two\n\nThree', -1, 'Two\n\nOne\n\nThree'],
    ['|One\n\nTwo\n\nThree', 1, 'Two\n\nOne\n\nThree'],
    ['1. a\n2. b|', -1, '1. b\n2. a'],
    ['- a\n  - b|\n  - c', 1, '- a\n  - c\n  - b'],
    ['## H|\ntext', 1, 'text\n\n## H'],
    ['Text\n\n> q\n## H\n\nEn|d', -1, 'Text\n\n> q\n\nEnd\n\n## H'],
    ['> q\n## H|\nText\n\nEnd', 1, '> q\n\nText\n\n## H\n\nEnd'],
    ['9. a\n10. b|', -1, '9. b\n10. a'],
    ['9. a\n10. b|\n\n    c', -1, '9.  b\n\n    c\n10. a'],
    ['|One', -1, null],
  ] as const)('%j moves by %i to %j', (from, direction, expected) =>
    expect(apply(from, (state, at) => move(state, at, direction))).toBe(expected),
  );
  it.each([
    ['One|\n\n## Two\nThree\n\nFour', 3, '## Two\nThree\n\nOne\n\nFour'],
    ['One|\n\nTwo\n\n\n\nThree\n', null, 'Two\n\n\n\nThree\n\nOne\n'],
    ['One\n\n- a\n- b\n\nFour|', 0, 'Four\n\nOne\n\n- a\n- b'],
    ['1. a\n2. b\n3. c|\n\nEnd', 0, '1. c\n2. a\n3. b\n\nEnd'],
    ['- a|\n  - in it\n- b\n- c', null, '- b\n- c\n- a\n  - in it'],
    ['One|\n\nTwo', 0, null],
    ['One|\n\nTwo', 1, null],
  ] as const)('%j moves to before those beside it: %j, %j', (from, place, expected) =>
    expect(
      apply(from, (state, at) => {
        const block = blockAt(state, at);
        const target = place === null ? null : block && siblingsOf(block)[place];
        return block && target !== undefined ? moveBefore(state, block, target) : null;
      }),
    ).toBe(expected),
  );
  it('goes with the empty lines after it', () => {
    expect(apply('One\n\nTw|o\n\nThree\n', remove)).toBe('One\n\nThree\n');
    expect(apply('One\n\nTw|o\n', remove)).toBe('One\n');
    expect(apply('One\n\n- a|\n\nTwo', remove)).toBe('One\n\nTwo');
    expect(apply('- a\n- b|\n- c', remove)).toBe('- a\n- c');
    expect(apply('- a\n  - b|\n- c', remove)).toBe('- a\n- c');
  });
  it('are duplicated', () => {
    expect(apply('One|\n\nTwo', duplicate)).toBe('One\n\nOne\n\nTwo');
    expect(apply('- a|\n- b', duplicate)).toBe('- a\n- a\n- b');
  });
  it.each([
    ['One|', 'heading2', '## One'],
    ['Long\nline|', 'heading3', '### Long line'],
    ['## One|', 'paragraph', 'One'],
    ['One|\n===', 'quote', '> One'],
    ['> a\n> b|', 'paragraph', 'a\nb'],
    ['One|\ntwo\n\n* x', 'bullets', '* One\n  two\n\n* x'],
    ['- a\n- b|\n- c', 'paragraph', '- a\n\nb\n\n- c'],
    ['- a|', 'tasks', '- [ ] a'],
    ['- [x] a|', 'numbers', '1. a'],
    ['One|', 'code', '```\nOne\n```'],
    ['| ', 'code', null],
  ] as const)('%j as %s becomes %j', (from, kind, expected) =>
    expect(apply(from, (state, at) => turnInto(state, at, kind))).toBe(expected),
  );
  it('come between others with empty lines around them', () => {
    expect(apply('One|\n\nTwo', (state, at) => insertBlock(state, at, '---'))).toBe('One\n\n---\n\nTwo');
    expect(apply('One\n|', (state, at) => insertBlock(state, at, '---'))).toBe('One\n\n---');
    expect(apply('|', (state, at) => insertBlock(state, at, '## '))).toBe('## ');
  });
});

/** Bodies of every kind of block. */
const words = fc.stringMatching(/^[a-z]{1,6}( [a-z]{1,6}){0,3}$/);
const inline = fc.oneof(
  words,
  words.map((text) => `*${text}*`),
  words.map((text) => `**${text}**`),
  words.map((text) => `\`${text}\``),
  words.map((text) => `[${text}](/x)`),
  fc.constant('![a](b.png)'),
);
const line = fc.array(inline, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(' '));
const block = fc.oneof(
  line,
  fc.array(line, { minLength: 2, maxLength: 3 }).map((lines) => lines.join('\n')),
  line.map((text) => `## ${text}`),
  words.map((text) => `${text}\n---`),
  fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.map((one) => `- ${one}`).join('\n')),
  fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.map((one, at) => `${at + 1}. ${one}`).join('\n')),
  line.map((text) => `> ${text}\n> ${text}`),
  words.map((text) => `\`\`\`js\n${text}\n${text}\n\`\`\``),
  words.map((text) => `| a | b |\n|---|---|\n| ${text} | *x* |`),
  words.map((text) => `{{< note "${text}" >}}`),
  words.map((text) => `<Card title="${text}">`),
);
const body = fc.array(block, { minLength: 1, maxLength: 6 }).map((blocks) => `${blocks.join('\n\n')}\n`);

describe('whatever the text', () => {
  it('edits of one block leave every byte outside it alone', () => {
    fc.assert(
      fc.property(body, fc.nat(), fc.constantFrom(...kinds), words, (text, place, kind, typed) => {
        const at = place % (text.length + 1);
        const state = stateAt(text, at);
        const found = blockAt(state, at);
        if (!found) return;
        const edits: (TransactionSpec | null)[] = [
          turnInto(state, at, kind),
          { ...state.replaceSelection(typed), userEvent: 'input.type' },
        ];
        for (const spec of edits) {
          if (!spec) continue;
          const now = state.update(spec).state.doc.toString();
          const tail = text.slice(found.to);
          expect(now.startsWith(text.slice(0, found.from)), now).toBe(true);
          expect(now.endsWith(tail), now).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('a deletion takes what is selected from what is seen, and nothing else', () => {
    fc.assert(
      fc.property(line, fc.nat(), fc.nat(), (text, one, other) => {
        const [from, to] = [one % (text.length + 1), other % (text.length + 1)].sort((a, b) => a - b) as [
          number,
          number,
        ];
        const state = stateAt(text, 0);
        const { hidden } = state.field(shown);
        // The cursor stands in no mark, and marks of two kinds that meet are another matter.
        fc.pre(!(text.includes('**') && /(?<!\*)\*(?!\*)/.test(text)));
        const free = (at: number) => !hidden.some((piece) => piece.from < at && at < piece.to);
        if (!free(from) || !free(to) || from === to) return;
        const isSeen = (at: number) => !hidden.some((piece) => piece.from <= at && at < piece.to);
        const expected = [...text].filter((_, at) => isSeen(at) && (at < from || at >= to)).join('');
        const now = state.update({ changes: { from, to }, userEvent: 'delete' }).state.doc.toString();
        expect(seen(now).replace(/ +/g, ' ')).toBe(expected.replace(/ +/g, ' '));
      }),
      { numRuns: 500 },
    );
  });

  it('moving a block there and back is no change', () => {
    fc.assert(
      fc.property(body, fc.nat(), (text, place) => {
        const state = stateAt(text, 0);
        const there = move(state, place % text.length, 1);
        if (!there) return;
        const { doc, selection } = state.update(there).state;
        const moved = stateAt(doc.toString(), selection.main.head);
        const back = move(moved, moved.selection.main.head, -1);
        const now = back ? moved.update(back).state.doc.toString() : null;
        // A list beside another of its kind becomes one with it.
        if (
          blockAt(state, place % text.length)?.name !== 'ListItem' &&
          !/^(?:[-*]|\d+\.) .*\n\n(?:[-*]|\d+\.) /ms.test(moved.doc.toString())
        )
          expect(now).toBe(text);
      }),
      { numRuns: 300 },
    );
  });
});

it('what was shown of a text stays so while a machine is too busy to read a change of it at once', () => {
  const text = `${'A paragraph.\n\n'.repeat(5)}| Tree | Loss |\n|---|---|\n| Plum | none |\n`;
  const tables = (state: EditorState) => state.field(shown).hidden.filter(({ kind }) => kind === 'object').length;
  let state = stateAt(text, 0);
  expect(tables(state)).toBe(1);
  let now = Date.now();
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => (now += 25));
  onTestFinished(() => clock.mockRestore());
  for (const letter of 'typed') {
    state = state.update({ changes: { from: 0, insert: letter } }).state;
    expect(tables(state)).toBe(1);
  }
});

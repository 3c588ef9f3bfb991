/** Random edits of single blocks, as the editor of text and that in a page make them: what lies outside of the block has to stay byte for byte. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { history, undo } from '@codemirror/commands';
import { ensureSyntaxTree } from '@codemirror/language';
import { EditorState, StateEffect, type Transaction, type TransactionSpec } from '@codemirror/state';
import type { WidgetType } from '@codemirror/view';
import { bodyLanguage } from '../src/dashboard/pages/entry/body-language.ts';
import { oneBlock, openPart, setParts } from '../src/dashboard/pages/entry/page/one-block.ts';
import { type Part, partsOf } from '../src/dashboard/pages/entry/page/pieces.ts';
import { kinds, turnInto } from '../src/dashboard/pages/entry/visual/blocks.ts';
import {
  breakBlock,
  breakLine,
  deleteBackward,
  deleteForward,
  placeTyped,
} from '../src/dashboard/pages/entry/visual/keys.ts';
import { keepMarks } from '../src/dashboard/pages/entry/visual/marks.ts';
import { revealed, shownBy } from '../src/dashboard/pages/entry/visual/shown.ts';
import { blocksOfFile, dialectOf } from '../src/domain/studio/annotations/source-blocks.ts';
import { bodyPlace, splitFile } from '../src/domain/studio/frontmatter/split.ts';
import { filesBelow } from '../test/support/routes/built-pages.ts';
import { type Benchmark, check } from './benchmark.ts';
import { corpusIn } from './support/corpora.ts';
import { type Flavour, richBody } from './support/rich-bodies.ts';
import { root } from './support/server.ts';
import { seeded } from './support/statistics.ts';

const widget = {} as WidgetType;
const shown = shownBy({
  image: () => widget,
  table: () => widget,
  task: () => widget,
  bullet: () => widget,
  rule: () => widget,
  space: () => widget,
});

interface Body {
  name: string;
  text: string;
  parts: Part[];
  /** Read, with the extensions of the editor in a page. */
  state: EditorState;
}

/** A body and its blocks, as annotations find them; null without any. */
function bodyOf(name: string, file: string): Body | null {
  const parsed = splitFile(file, name);
  // Editors have the text with the line ends of the web.
  const text = parsed.body.replaceAll('\r\n', '\n');
  const blocks = blocksOfFile(file.replaceAll('\r\n', '\n'), name, dialectOf(null, name));
  const pieces = blocks.map(({ kind, start_line, end_line }) => ({
    kind,
    start_line,
    end_line,
    selector: kind === 'table_cell' ? 'td:nth-child(1)' : 'p',
    text: '',
    field: null,
    is_changed: false,
  }));
  const parts = partsOf(text, pieces, bodyPlace(parsed).line);
  if (parts.length === 0) return null;
  const read = EditorState.create({ doc: text, extensions: bodyLanguage });
  ensureSyntaxTree(read, text.length, 10_000);
  // In the order of the view *Page*, which decides what has the last word.
  const extensions = [history(), oneBlock(() => {}), revealed, shown, keepMarks(shown), placeTyped(shown)];
  const { state } = read.update({ effects: StateEffect.appendConfig.of(extensions) });
  return { name, text, parts, state: state.update({ effects: setParts.of(parts) }).state };
}

const typed = [
  'x',
  'word',
  ' ',
  '*',
  '**',
  '`',
  '# ',
  '- ',
  '> ',
  '|',
  '[',
  ']',
  '\n',
  '\n\n',
  '{{',
  '<b>',
  '---',
  '1. ',
  'é',
  '😀',
];
const commands = [breakBlock, breakLine, deleteBackward(shown), deleteForward(shown)];

/** One to four edits of a block by chance, and now and then one that is undone. @returns the text afterwards */
function edited({ state, text }: Body, part: Part, random: () => number): string {
  const below = (count: number) => Math.floor(random() * count);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  let now = state.update({ effects: openPart.of(part.id) }).state;
  const dispatch = (spec: TransactionSpec) => {
    now = now.update(spec).state;
  };
  const take = (transaction: Transaction) => {
    now = transaction.state;
  };
  const put = (anchor: number, head = anchor) => dispatch({ selection: { anchor, head } });
  for (let edit = 1 + below(4); edit > 0; edit -= 1) {
    // Anywhere: the editor keeps what is typed, and the cursor, within the block.
    const at = random() < 0.8 ? part.from + below(part.to - part.from + 1) : below(text.length + 1);
    put(Math.min(at, now.doc.length));
    if (random() < 0.3) put(now.selection.main.head, below(now.doc.length + 1));
    const kind = below(10);
    if (kind < 5) dispatch({ ...now.replaceSelection(pick(typed)), userEvent: 'input.type' });
    else if (kind < 8) pick(commands)({ state: now, dispatch: take });
    else if (kind < 9) dispatch({ ...now.replaceSelection(''), userEvent: 'delete.cut' });
    else dispatch(turnInto(now, now.selection.main.head, pick(kinds)) ?? {});
    if (random() < 0.1) undo({ state: now, dispatch: take });
  }
  return now.doc.toString();
}

/** Bytes that differ outside of a block, where its text went from one to another. */
function strayBytes(before: string, part: Part, after: string): number {
  const [head, tail] = [before.slice(0, part.from), before.slice(part.to)];
  if (after.length >= head.length + tail.length && after.startsWith(head) && after.endsWith(tail)) return 0;
  let same = 0;
  while (same < head.length && after[same] === head[same]) same += 1;
  let end = 0;
  while (end < tail.length && after.at(-1 - end) === tail.at(-1 - end)) end += 1;
  return Math.max(1, head.length - same + (tail.length - end));
}

/** A block with a little of what stands around it. */
const around = (text: string, { from, to }: Part) => text.slice(Math.max(0, from - 20), to + 40).slice(0, 400);

const flavours: Flavour[] = ['plain', 'mdx', 'admonitions', 'containers', 'liquid', 'shortcodes'];

export const blockEdits: Benchmark = {
  name: 'block-edits',
  summary: 'Random edits of single blocks of real texts, as editors make them: bytes that change outside of the block.',
  minutes: 20,
  async run(bench) {
    const sites = bench.corpus === null ? new Map([['this repository', root]]) : await corpusIn(bench.corpus, bench);
    check(sites.size > 0, 'there are no sites');
    const bodies: Body[] = [];
    let faults = 0;
    for (const [site, directory] of sites) {
      const files = (await filesBelow(directory)).filter(
        (at) => /\.(?:md|mdx|markdown)$/.test(at) && !at.includes('node_modules/'),
      );
      for (const file of files) {
        const text = await readFile(path.join(directory, file), 'utf8');
        if (text.length > 200_000) continue;
        try {
          const body = bodyOf(file, text);
          if (body) bodies.push({ ...body, name: `${site}: ${file}` });
        } catch (error) {
          faults += 1;
          bench.say(`${site}: ${file}: ${String(error).slice(0, 200)}`);
        }
      }
    }
    const real = bodies.length;
    for (const [at, flavour] of flavours.entries())
      for (let number = 0; number < 10; number += 1) {
        const body = bodyOf(`${flavour}-${number}.md`, richBody(number * 10 + at, flavour));
        if (body) bodies.push(body);
      }
    const random = seeded(20_261_128);
    const total = bench.scaled(10_000, 500);
    let [stray, changed] = [0, 0];
    const notes: string[] = [];
    for (let edit = 0; edit < total; edit += 1) {
      const body = bodies[edit % bodies.length] as Body;
      const part = body.parts[Math.floor(random() * body.parts.length)] as Part;
      const after = edited(body, part, random);
      if (after !== body.text) changed += 1;
      const bytes = strayBytes(body.text, part, after);
      stray += bytes;
      if (bytes > 0 && notes.length < 20)
        notes.push(
          `${body.name}: ${bytes} bytes, ${JSON.stringify(around(body.text, part))} became ${JSON.stringify(around(after, part))}`,
        );
    }
    return {
      cases: [
        {
          name: `bytes changed outside of the block, ${total} edits of ${bodies.length} texts`,
          unit: 'bytes',
          value: stray,
          atMost: 0,
        },
        { name: 'edits that changed something', unit: '%', value: (changed / total) * 100, atLeast: 80 },
        { name: 'texts that could not be read', unit: '', value: faults, atMost: 0 },
      ],
      notes: [
        ...notes,
        `${real} texts are those of ${[...sites.keys()].join(', ')}, the others are made by chance, with every kind of block.`,
      ],
    };
  },
};

/**
 * Beside each line of a file, by whom and when it was changed last. The lines in sight are requested, a thousand at a time, so that a long file is there
 * at once. A gutter is not read out: the line of the cursor is described below the text, with a link to its version.
 */
import { type Extension, RangeSet, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import { type EditorView, GutterMarker, gutter, ViewPlugin, type ViewUpdate } from '@codemirror/view';
import type { FileBlameQuery } from '../../documents.ts';

type Blame = NonNullable<NonNullable<NonNullable<NonNullable<FileBlameQuery['project']>['studio']>['file']>['blame']>;
export type LineRange = Blame['ranges'][number];

/** Lines of one request. */
export const chunkLines = 1_000;

const loaded = StateEffect.define<readonly LineRange[]>();

class ChangeMarker extends GutterMarker {
  readonly #text: string;
  constructor(text: string) {
    super();
    this.#text = text;
  }
  override eq(other: GutterMarker): boolean {
    return other instanceof ChangeMarker && other.#text === this.#text;
  }
  override toDOM(): Node {
    return document.createTextNode(this.#text);
  }
}

const ranges = StateField.define<readonly LineRange[]>({
  create: () => [],
  update(known, { effects }) {
    const found = effects.flatMap((effect) => (effect.is(loaded) ? effect.value : []));
    return found.length === 0 ? known : [...known, ...found].toSorted((one, other) => one.first - other.first);
  },
});

/** The last change of the line at a position; null where it is not known. */
function changeAt(view: EditorView, position: number): LineRange | null {
  const { number } = view.state.doc.lineAt(position);
  return view.state.field(ranges).find(({ first, last }) => first <= number && number <= last) ?? null;
}

interface Options {
  /** Loads lines from `first` on. */
  load: (first: number) => Promise<readonly LineRange[]>;
  /** What stands at the first line of a change. */
  describe: (change: LineRange) => string;
  /** Called with the change of the cursor's line, and its number. */
  onLine: (change: LineRange | null, line: number) => void;
}

export function lastChanges({ load, describe, onLine }: Options): Extension {
  const loader = ViewPlugin.define((view) => {
    const requested = new Set<number>();
    let isOver = false;
    const wanted = () => {
      for (const { from, to } of view.visibleRanges) {
        const [top, bottom] = [view.state.doc.lineAt(from).number, view.state.doc.lineAt(to).number];
        for (let chunk = Math.floor((top - 1) / chunkLines); chunk * chunkLines < bottom; chunk += 1) {
          if (requested.has(chunk)) continue;
          requested.add(chunk);
          void load(chunk * chunkLines + 1).then((found) => {
            if (!isOver) view.dispatch({ effects: loaded.of(found) });
          });
        }
      }
    };
    const notify = () => {
      const { head } = view.state.selection.main;
      onLine(changeAt(view, head), view.state.doc.lineAt(head).number);
    };
    queueMicrotask(() => {
      wanted();
      notify();
    });
    return {
      update(update: ViewUpdate) {
        if (update.viewportChanged) wanted();
        const hasLoaded = update.transactions.some(({ effects }) => effects.some((effect) => effect.is(loaded)));
        if (update.selectionSet || hasLoaded) notify();
      },
      destroy() {
        isOver = true;
      },
    };
  });
  const column = gutter({
    class: 'cm-lastChanges',
    markers: (view) => {
      const builder = new RangeSetBuilder<GutterMarker>();
      for (const change of view.state.field(ranges)) {
        if (change.first > view.state.doc.lines) break;
        const { from } = view.state.doc.line(change.first);
        builder.add(from, from, new ChangeMarker(describe(change)));
      }
      return view.state.field(ranges).length > 0 ? builder.finish() : RangeSet.empty;
    },
    lineMarkerChange: ({ transactions }) =>
      transactions.some(({ effects }) => effects.some((effect) => effect.is(loaded))),
  });
  return [ranges, loader, column];
}

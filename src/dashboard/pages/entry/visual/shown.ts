/**
 * How Visual shows Markdown: marks are hidden, pictures, rules and boxes stand for their source, and lines that a renderer joins are joined. The text
 * stays what it is, so nothing can change but what is edited.
 */
import { ensureSyntaxTree, syntaxTree, syntaxTreeAvailable } from '@codemirror/language';
import { type EditorState, type Range, RangeSet, StateEffect, StateField, type Transaction } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, type WidgetType } from '@codemirror/view';

export type Tree = ReturnType<typeof syntaxTree>;
export type SyntaxNode = Tree['topNode'];

export interface Span {
  from: number;
  to: number;
}

/**
 * A part of the text that is not shown as it is written.
 * `mark`: belongs to an element and goes only with all of it; `prefix`: begins a line; `object`: shown as one thing; `join`: a line's end, shown as a space.
 */
export interface Hidden extends Span {
  kind: 'mark' | 'prefix' | 'object' | 'join';
  /** The element that a mark belongs to. */
  owner: Span;
  /** The element stands on lines of its own. */
  isBlock: boolean;
  /** Marks nothing where a space follows or precedes it inside (CommonMark 6.2). */
  flanks: boolean;
}

/** Widgets for what is not text. */
export interface Widgets {
  image: (url: string, alt: string) => WidgetType;
  table: (source: string) => WidgetType;
  task: (isDone: boolean) => WidgetType;
  bullet: (text: string) => WidgetType;
  rule: () => WidgetType;
  space: () => WidgetType;
}

export interface Shown {
  decorations: DecorationSet;
  /** What the cursor passes in one step. */
  atomic: DecorationSet;
  hidden: readonly Hidden[];
}

/** Text that only a build can render, by what it begins and ends with. */
const templates: readonly [string, string][] = [
  ['{{', '}}'],
  ['{%', '%}'],
  ['{/*', '*/}'],
];

/** Interpolations and shortcodes within a text, from left to right. */
function templatesIn(text: string): Span[] {
  const found: Span[] = [];
  const open = new Set(templates);
  for (let from = text.indexOf('{'); from >= 0; ) {
    const kind = [...open].find(([begin]) => text.startsWith(begin, from));
    const end = kind ? text.indexOf(kind[1], from + kind[0].length) : -1;
    // What ends nowhere from here on ends nowhere later either.
    if (kind && end < 0) open.delete(kind);
    const to = kind && end >= 0 ? end + kind[1].length : from + 1;
    if (kind && end >= 0) found.push({ from, to });
    from = text.indexOf('{', to);
  }
  return found;
}

/** Whether a line is a component's, a shortcode's, a directive's or a module's. */
function isTemplateLine(line: string): boolean {
  const text = line.replace(/^[ \t>]+/, '').trimEnd();
  if ([':::', '{{', '{%', '!!!', '???', 'export '].some((begin) => text.startsWith(begin))) return true;
  if (text.startsWith('import ')) return text.includes(' from ');
  const tag = /^<\/?[A-Za-z][\w.-]*(?=[\s/>]|$)/.exec(text);
  const end = text.indexOf('>');
  return tag !== null && (end < 0 || end === text.length - 1);
}

const verbatim = new Set(['HTMLBlock', 'CommentBlock', 'ProcessingInstructionBlock', 'LinkReference']);
const inlineLooks: Readonly<Record<string, string>> = {
  Emphasis: 'cm-emphasis',
  StrongEmphasis: 'cm-strong',
  Strikethrough: 'cm-strike',
  InlineCode: 'cm-codeText',
  Link: 'cm-linkText',
  Autolink: 'cm-linkText',
};
export const inlineMarks = ['EmphasisMark', 'StrikethroughMark', 'CodeMark', 'LinkMark'];

export const headingLevel = (name: string): number => Number(/^(?:ATX|Setext)Heading(\d)$/.exec(name)?.[1] ?? 0);

/** Whether a block holds what only a build can render; it is edited as its source. */
const isTemplate = (text: string): boolean => text.split('\n').some(isTemplateLine);

/** Positions are counted from the block's beginning, so that a block that only moved is not looked at again. */
interface Pieces {
  hidden: Hidden[];
  decorations: Range<Decoration>[];
  atomic: Range<Decoration>[];
}

const byPlace = (one: Range<Decoration>, other: Range<Decoration>) =>
  one.from - other.from || one.value.startSide - other.value.startSide || other.to - one.to;

/** Reads one block of the document. */
class BlockReader {
  readonly #hidden: Hidden[] = [];
  readonly #decorations: Range<Decoration>[] = [];
  readonly #atomic: Range<Decoration>[] = [];
  readonly #lines = new Map<number, Set<string>>();
  readonly #templates: readonly Span[];
  readonly #origin: number;

  constructor(
    readonly state: EditorState,
    readonly widgets: Widgets,
    readonly block: SyntaxNode,
  ) {
    this.#origin = block.from;
    const text = state.sliceDoc(block.from, block.to);
    this.#templates = templatesIn(text).map(({ from, to }) => ({ from: block.from + from, to: block.from + to }));
  }

  read(): Pieces {
    this.#visit(this.block, 0);
    for (const [at, names] of this.#lines)
      this.#decorations.push(Decoration.line({ class: [...names].join(' ') }).range(at - this.#origin));
    for (const { from, to } of this.#templates) this.#mark({ from, to }, 'cm-template');
    return {
      hidden: this.#hidden.sort((one, other) => one.from - other.from || one.to - other.to),
      decorations: this.#decorations.sort(byPlace),
      atomic: this.#atomic.sort(byPlace),
    };
  }

  #relative({ from, to }: Span): Span {
    return { from: from - this.#origin, to: to - this.#origin };
  }

  /** Notes a part that edits have to respect, whether it is shown or not. */
  #note(span: Span, kind: Hidden['kind'], owner: Span, { isBlock = false, flanks = false } = {}): void {
    this.#hidden.push({ ...this.#relative(span), kind, owner: this.#relative(owner), isBlock, flanks });
  }

  #replace(span: Span, decoration: Decoration): void {
    const { from, to } = this.#relative(span);
    const range = decoration.range(from, to);
    this.#decorations.push(range);
    this.#atomic.push(range);
  }

  #hide(
    span: Span,
    kind: Hidden['kind'],
    {
      owner = span,
      widget,
      ...traits
    }: { owner?: Span; isBlock?: boolean; flanks?: boolean; widget?: WidgetType } = {},
  ): void {
    if (span.from >= span.to) return;
    this.#note(span, kind, owner, traits);
    this.#replace(span, Decoration.replace(widget ? { widget } : {}));
  }

  #mark({ from, to }: Span, name: string): void {
    if (from < to)
      this.#decorations.push(Decoration.mark({ class: name }).range(from - this.#origin, to - this.#origin));
  }

  #line(at: number, ...names: string[]): void {
    const known = this.#lines.get(at) ?? new Set();
    for (const name of names) known.add(name);
    this.#lines.set(at, known);
  }

  *#linesOf({ from, to }: Span) {
    for (let line = this.state.doc.lineAt(from); ; line = this.state.doc.line(line.number + 1)) {
      yield line;
      if (line.to >= to || line.number === this.state.doc.lines) return;
    }
  }

  #isInTemplate({ from, to }: Span): boolean {
    return this.#templates.some((one) => one.from < to && from < one.to);
  }

  /** @param depth of lists around the node */
  #visit(node: SyntaxNode, depth: number): void {
    if (!this.#read(node, depth)) return;
    for (let child = node.firstChild; child; child = child.nextSibling)
      this.#visit(child, depth + (node.name === 'ListItem' ? 1 : 0));
  }

  /** @returns whether what the node holds is to be read too */
  #read(node: SyntaxNode, depth: number): boolean {
    const { name } = node;
    const level = headingLevel(name);
    if (verbatim.has(name)) this.#source(node);
    else if (name === 'Table') this.#table(node);
    else if (name === 'FencedCode' || name === 'CodeBlock') this.#code(node, depth);
    else if (name === 'HorizontalRule') this.#rule(node);
    else if (name === 'QuoteMark') this.#quoteMark(node);
    else if (name === 'TaskMarker')
      this.#hide(node, 'object', { widget: this.widgets.task(/x/i.test(this.#text(node))) });
    else if (name === 'Image') this.#image(node);
    else if (name === 'HTMLTag' || name === 'Comment') this.#mark(node, 'cm-template');
    else if (name === 'Link') return this.#link(node);
    else if (Object.hasOwn(inlineLooks, name) || name === 'Escape') return this.#inline(node);
    else if (name === 'Paragraph' || name === 'Task') return this.#paragraph(node);
    else if (level > 0) return this.#heading(node, level);
    else if (name === 'ListItem') return this.#item(node, depth);
    else {
      if (name === 'Blockquote') for (const { from } of this.#linesOf(node)) this.#line(from, 'cm-quote');
      return true;
    }
    return false;
  }

  #text({ from, to }: Span): string {
    return this.state.sliceDoc(from, to);
  }

  /** Lines that stay as they are written. */
  #source(node: Span): void {
    for (const { from } of this.#linesOf(node)) this.#line(from, 'cm-sourceLine');
  }

  #paragraph(node: SyntaxNode): boolean {
    const isSource = isTemplate(this.#text(node));
    if (isSource) this.#source(node);
    else this.#join(node);
    return !isSource;
  }

  #rule(node: SyntaxNode): void {
    this.#line(this.state.doc.lineAt(node.from).from, 'cm-ruleLine');
    this.#hide(node, 'object', { widget: this.widgets.rule(), isBlock: true });
  }

  #heading(node: SyntaxNode, level: number): boolean {
    for (const { from } of this.#linesOf(node)) this.#line(from, `cm-h${level}`);
    const marks = node.getChildren('HeaderMark');
    if (node.name.startsWith('Setext')) {
      const [mark] = marks;
      const line = mark && this.state.doc.lineAt(mark.from);
      if (mark && line) this.#hide({ from: line.from - 1, to: mark.to }, 'mark', { owner: node, isBlock: true });
      this.#join({ from: node.from, to: line ? line.from - 1 : node.to });
      return true;
    }
    for (const [at, mark] of marks.entries()) {
      if (at === 0) {
        const spaces = /^[ \t]*/.exec(this.#text({ from: mark.to, to: node.to }))?.[0].length ?? 0;
        this.#hide({ from: mark.from, to: mark.to + spaces }, 'prefix');
      } else {
        const text = this.#text({ from: node.from, to: mark.from });
        // "## ##" has one mark that both begins and ends.
        const from = Math.max(node.from + text.trimEnd().length, marks[0]?.to ?? 0);
        this.#hide({ from, to: mark.to }, 'mark', { owner: node });
      }
    }
    return true;
  }

  /** Shows the lines of a paragraph as one, except where it breaks the line itself. */
  #join(node: Span): void {
    for (const line of this.#linesOf(node)) {
      if (line.from <= node.from) continue;
      const before = this.#text({ from: this.state.doc.lineAt(line.from - 1).from, to: line.from - 1 });
      const prefix = /^[ \t]*(?:>[ \t]*)*/.exec(line.text)?.[0].length ?? 0;
      const spaces = before.length - before.trimEnd().length;
      const hard = before.endsWith('\\') ? 1 : spaces >= 2 ? spaces : 0;
      const next = Math.min(line.from + prefix, node.to);
      if (hard === 0) this.#hide({ from: line.from - 1, to: next }, 'join', { widget: this.widgets.space() });
      else {
        this.#hide({ from: line.from - 1 - hard, to: line.from - 1 }, 'prefix');
        this.#hide({ from: line.from, to: next }, 'prefix');
      }
    }
  }

  #code(node: SyntaxNode, depth: number): void {
    const lines = [...this.#linesOf(node)];
    for (const [at, { from, text }] of lines.entries()) {
      this.#line(
        from,
        'cm-code',
        ...(at === 0 ? ['cm-codeFirst'] : []),
        ...(at === lines.length - 1 ? ['cm-codeLast'] : []),
      );
      if (depth > 0) this.#line(from, `cm-depth${Math.min(depth, 6)}`);
      // What stands before the block's own column belongs to the list or quote around it.
      const column = node.from - this.state.doc.lineAt(node.from).from;
      const outer = /^[ \t>]*/.exec(text.slice(0, column))?.[0].length ?? 0;
      if (at > 0) this.#hide({ from, to: from + Math.min(outer, column) }, 'prefix');
    }
    if (node.name === 'CodeBlock') return;
    const marks = node.getChildren('CodeMark');
    for (const mark of marks) this.#hide(mark, 'mark', { owner: node, isBlock: true });
    const [first, last] = [lines[0], lines.at(-1)];
    const info = node.getChild('CodeInfo');
    if (info) this.#mark(info, 'cm-codeInfo');
    // Line ends that are shown, and go only with all of the block.
    if (first && lines.length > 1) this.#note({ from: first.to, to: first.to + 1 }, 'mark', node, { isBlock: true });
    if (last && lines.length > 2 && marks.length > 1)
      this.#note({ from: last.from - 1, to: last.from }, 'mark', node, { isBlock: true });
  }

  #item(node: SyntaxNode, depth: number): boolean {
    for (const line of this.#linesOf(node)) {
      this.#line(line.from, `cm-depth${Math.min(depth + 1, 6)}`);
      // Lines of lists within it are lines of this one too.
      if (depth === 0 && this.#isIndentation(line)) {
        const spaces = /^[ \t]*/.exec(line.text)?.[0].length ?? 0;
        this.#hide({ from: line.from, to: line.from + spaces }, 'prefix');
      }
    }
    const mark = node.getChild('ListMark');
    if (!mark) return true;
    const line = this.state.doc.lineAt(mark.from);
    const spaces = /^[ \t]*/.exec(this.#text({ from: mark.to, to: line.to }))?.[0].length ?? 0;
    const text = this.#text(mark);
    const bullet = this.widgets.bullet(/\d/.test(text) ? text : '•');
    this.#hide({ from: mark.from, to: mark.to + spaces }, 'prefix', { widget: bullet });
    return true;
  }

  /** Whether the spaces a line of a list begins with are neither code nor within a paragraph, whose lines are joined. */
  #isIndentation({ from, text }: { from: number; text: string }): boolean {
    const at = from + (/^[ \t]*/.exec(text)?.[0].length ?? 0);
    if (at === from + text.length) return false;
    for (let node: SyntaxNode | null = this.block.resolveInner(at, 1); node; node = node.parent) {
      if (node.name === 'FencedCode' || node.name === 'CodeBlock') return false;
      if (node.name === 'Paragraph' || node.name === 'Task') return node.from >= from;
    }
    return true;
  }

  #quoteMark(node: SyntaxNode): void {
    // Within a paragraph, the join has taken it.
    if (node.parent?.name === 'Paragraph' || node.parent?.name === 'Task') return;
    const space = /^[ \t]/.test(this.#text({ from: node.to, to: node.to + 1 })) ? 1 : 0;
    this.#hide({ from: node.from, to: node.to + space }, 'prefix');
  }

  #table(node: SyntaxNode): void {
    const line = this.state.doc.lineAt(node.from);
    if (node.parent?.name !== 'Document' || line.from !== node.from) {
      this.#source(node);
      return;
    }
    this.#note(node, 'object', node, { isBlock: true });
    this.#replace(node, Decoration.replace({ widget: this.widgets.table(this.#text(node)), block: true }));
  }

  #image(node: SyntaxNode): void {
    const url = node.getChild('URL');
    if (!url || this.#isInTemplate(node)) {
      this.#mark(node, 'cm-template');
      return;
    }
    const [open, close] = node.getChildren('LinkMark');
    const alt = open && close ? this.#text({ from: open.to, to: close.from }) : '';
    const widget = this.widgets.image(this.#text(url).replace(/^<|>$/g, ''), alt.replace(/\\(.)/g, '$1'));
    this.#hide(node, 'object', { widget });
  }

  #inline(node: SyntaxNode): boolean {
    if (this.#isInTemplate(node)) return false;
    if (node.name === 'Escape') {
      this.#hide({ from: node.from, to: node.from + 1 }, 'mark', { owner: node });
      return false;
    }
    this.#mark(node, inlineLooks[node.name] ?? '');
    for (const mark of inlineMarks.flatMap((name) => node.getChildren(name)))
      this.#hide(mark, 'mark', { owner: node, flanks: mark.name !== 'CodeMark' && mark.name !== 'LinkMark' });
    return true;
  }

  #link(node: SyntaxNode): boolean {
    if (this.#isInTemplate(node)) return false;
    const marks = node.getChildren('LinkMark');
    const [open, close] = marks;
    // "[x]" alone may be a footnote, or a text in brackets.
    if (!open || !close || !(node.getChild('URL') ?? node.getChild('LinkLabel'))) return true;
    this.#mark(node, inlineLooks.Link ?? '');
    this.#hide(open, 'mark', { owner: node });
    this.#hide({ from: close.from, to: node.to }, 'mark', { owner: node });
    for (let child = open.nextSibling; child && child.from < close.from; child = child.nextSibling)
      this.#visit(child, 0);
    return false;
  }
}

const setRevealed = StateEffect.define<Span | null>();

/** The block whose Markdown is shown, until the cursor leaves it. */
export const revealed = StateField.define<Span | null>({
  create: () => null,
  update(known, { changes, effects, state }) {
    for (const effect of effects) if (effect.is(setRevealed)) return effect.value;
    if (!known) return null;
    const now = { from: changes.mapPos(known.from, -1), to: changes.mapPos(known.to, 1) };
    const { head } = state.selection.main;
    return now.from <= head && head <= now.to ? now : null;
  },
});

export const reveal = (span: Span | null) => setRevealed.of(span);

/** Milliseconds for reading a change of a text that was read to its end. */
const patience = 500;

/**
 * A change is read within a few milliseconds, and where a busy machine takes longer, only in part. Were the rest shown as source until it is read, too,
 * a table would go, and with it the focus of a cell that is edited.
 */
function treeAfter({ startState, state }: Transaction): Tree {
  const wasRead = syntaxTreeAvailable(startState, startState.doc.length);
  return (wasRead && ensureSyntaxTree(state, state.doc.length, patience)) || syntaxTree(state);
}

function show(state: EditorState, tree: Tree, widgets: Widgets, cache: WeakMap<Tree, Pieces>): Shown {
  const open = state.field(revealed, false) ?? null;
  const hidden: Hidden[] = [];
  const decorations: Range<Decoration>[] = [];
  const atomic: Range<Decoration>[] = [];
  const doc = tree.topNode;
  for (let block = doc.firstChild; block; block = block.nextSibling) {
    const { from, to, tree: own } = block;
    if (open && from < open.to && open.from < to) {
      const first = state.doc.lineAt(from).number;
      for (let line = first; line <= state.doc.lineAt(to).number; line += 1)
        decorations.push(Decoration.line({ class: 'cm-sourceLine cm-revealed' }).range(state.doc.line(line).from));
      continue;
    }
    let pieces = own && cache.get(own);
    if (!pieces) {
      pieces = new BlockReader(state, widgets, block).read();
      if (own) cache.set(own, pieces);
    }
    for (const { owner, ...one } of pieces.hidden)
      hidden.push({
        ...one,
        from: one.from + from,
        to: one.to + from,
        owner: { from: owner.from + from, to: owner.to + from },
      });
    for (const one of pieces.decorations) decorations.push(one.value.range(one.from + from, one.to + from));
    for (const one of pieces.atomic) atomic.push(one.value.range(one.from + from, one.to + from));
  }
  return { hidden, decorations: RangeSet.of(decorations), atomic: RangeSet.of(atomic) };
}

/** The field that holds what is shown, with the decorations it makes. */
export function shownBy(widgets: Widgets) {
  const cache = new WeakMap<Tree, Pieces>();
  return StateField.define<Shown>({
    create: (state) => show(state, syntaxTree(state), widgets, cache),
    update(known, transaction) {
      const { startState, state } = transaction;
      const isSame =
        !transaction.docChanged &&
        syntaxTree(startState) === syntaxTree(state) &&
        startState.field(revealed, false) === state.field(revealed, false);
      return isSame ? known : show(state, treeAfter(transaction), widgets, cache);
    },
    provide: (field) => [
      EditorView.decorations.from(field, ({ decorations }) => decorations),
      EditorView.atomicRanges.of((view) => view.state.field(field, false)?.atomic ?? RangeSet.empty),
    ],
  });
}

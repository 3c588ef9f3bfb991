/** What Visual shows in place of text: pictures, boxes of tasks, bullets, rules and tables, each drawn from its source. */
import { type EditorView, WidgetType } from '@codemirror/view';
import type { ReactNode } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { i18n } from '../../../lib/i18n.ts';
import { type MarkdownPlace, Picture } from '../markdown.tsx';
import type { Widgets } from './shown.ts';
import { Table } from './table.tsx';

/** An element of the page without behaviour. */
class Plain extends WidgetType {
  readonly #name: string;
  readonly #text: string;
  constructor(name: string, text: string) {
    super();
    this.#name = name;
    this.#text = text;
  }
  override eq(other: Plain): boolean {
    return other.#name === this.#name && other.#text === this.#text;
  }
  override toDOM(): HTMLElement {
    const element = document.createElement('span');
    element.className = this.#name;
    element.textContent = this.#text;
    return element;
  }
}

/** What draws an element, and what observes its size. */
const drawings = new WeakMap<HTMLElement, { root: Root; sizes: ResizeObserver }>();

/** A part of the page that React draws, and draws anew in place when its source changes. */
class Drawn extends WidgetType {
  readonly #kind: string;
  readonly #source: string;
  readonly #draw: (view: EditorView, element: HTMLElement) => ReactNode;
  readonly #isActive: boolean;
  constructor(
    kind: string,
    source: string,
    draw: (view: EditorView, element: HTMLElement) => ReactNode,
    isActive: boolean,
  ) {
    super();
    this.#kind = kind;
    this.#source = source;
    this.#draw = draw;
    this.#isActive = isActive;
  }
  override eq(other: Drawn): boolean {
    return other.#kind === this.#kind && other.#source === this.#source;
  }
  override toDOM(view: EditorView): HTMLElement {
    const element = document.createElement(this.#isActive ? 'div' : 'span');
    element.className = this.#kind;
    const root = createRoot(element);
    // React draws later, and a picture comes later still: the editor's own measures would be those of before.
    const sizes = new ResizeObserver(() => view.requestMeasure());
    sizes.observe(element);
    drawings.set(element, { root, sizes });
    root.render(this.#draw(view, element));
    return element;
  }
  override updateDOM(element: HTMLElement, view: EditorView): boolean {
    const root = drawings.get(element)?.root;
    if (!root || element.className !== this.#kind) return false;
    root.render(this.#draw(view, element));
    return true;
  }
  override destroy(element: HTMLElement): void {
    const drawing = drawings.get(element);
    drawing?.sizes.disconnect();
    // React does not unmount while it renders, which it may be doing for another part of the page.
    queueMicrotask(() => drawing?.root.unmount());
  }
  override ignoreEvent(): boolean {
    return this.#isActive;
  }
}

/** A box that is ticked by a click. */
class Task extends WidgetType {
  readonly #isDone: boolean;
  constructor(isDone: boolean) {
    super();
    this.#isDone = isDone;
  }
  override eq(other: Task): boolean {
    return other.#isDone === this.#isDone;
  }
  override toDOM(view: EditorView): HTMLElement {
    const box = document.createElement('input');
    box.type = 'checkbox';
    box.checked = this.#isDone;
    box.disabled = view.state.readOnly;
    box.ariaLabel = i18n.t('entry:task_done');
    box.addEventListener('change', () => {
      const from = view.posAtDOM(box) + 1;
      view.dispatch({ changes: { from, to: from + 1, insert: box.checked ? 'x' : ' ' }, userEvent: 'input.task' });
    });
    return box;
  }
  override ignoreEvent(): boolean {
    return true;
  }
}

export const widgetsFor = (place: MarkdownPlace): Widgets => ({
  image: (url, alt) =>
    new Drawn('cm-picture', `${url}\n${alt}`, () => <Picture place={place} url={url} alt={alt} />, false),
  table: (source) =>
    new Drawn(
      'cm-table',
      source,
      (view, element) => <Table view={view} element={element} source={source} place={place} />,
      true,
    ),
  task: (isDone) => new Task(isDone),
  bullet: (text) => new Plain('cm-bullet', text),
  rule: () => new Plain('cm-rule', ''),
  space: () => new Plain('cm-space', ' '),
});

/** A handle beside the block under the pointer, by which it is dragged. The menu *Block* and Alt+arrows do the same without a pointer. */
import { type EditorView, ViewPlugin } from '@codemirror/view';
import { moveTo, topBlockAt } from './blocks.ts';
import type { SyntaxNode } from './shown.ts';

interface Target {
  /** Place of the block before which the dragged one would stand; null: at the end. */
  before: number | null;
  /** Pixels from the top of the window. */
  top: number;
}

function element(name: string, text: string): HTMLElement {
  return Object.assign(document.createElement('div'), {
    className: name,
    hidden: true,
    ariaHidden: 'true',
    textContent: text,
  });
}

class Handle {
  readonly #view: EditorView;
  readonly #dom = element('cm-handle', '⠿');
  readonly #mark = element('cm-dropMark', '');
  /** Where the block beside the handle begins. */
  #at = 0;

  constructor(view: EditorView) {
    this.#view = view;
    view.dom.append(this.#dom, this.#mark);
    this.#dom.addEventListener('pointerdown', (event) => {
      // The text keeps the focus, and selects nothing.
      event.preventDefault();
      this.#dom.setPointerCapture(event.pointerId);
    });
    this.#dom.addEventListener('pointermove', (event) => {
      if (this.#dom.hasPointerCapture(event.pointerId)) this.#show(this.#mark, this.#targetAt(event)?.top ?? null);
    });
    this.#dom.addEventListener('pointerup', (event) => {
      if (!this.#dom.hasPointerCapture(event.pointerId)) return;
      const target = this.#targetAt(event);
      const change = target && moveTo(view.state, this.#at, target.before);
      if (change && !view.state.readOnly) view.dispatch(change);
      this.hide();
    });
    this.#dom.addEventListener('pointercancel', () => this.hide());
  }

  /** The block of the document at a height of the window; null where there is none. */
  #blockAt(clientY: number): SyntaxNode | null {
    const { left } = this.#view.contentDOM.getBoundingClientRect();
    const at = this.#view.posAtCoords({ x: left + 48, y: clientY });
    return at === null ? null : topBlockAt(this.#view.state, at);
  }

  #targetAt({ clientY }: MouseEvent): Target | null {
    const block = this.#blockAt(clientY);
    const [first, last] = [
      block && this.#view.coordsAtPos(block.from, 1),
      block && this.#view.coordsAtPos(block.to, -1),
    ];
    if (!block || !first || !last) return null;
    return clientY > (first.top + last.bottom) / 2
      ? { before: block.nextSibling?.from ?? null, top: last.bottom }
      : { before: block.from, top: first.top };
  }

  #show(part: HTMLElement, top: number | null): void {
    part.hidden = top === null;
    if (top === null) return;
    const outer = this.#view.dom.getBoundingClientRect();
    part.style.insetBlockStart = `${top - outer.top}px`;
    part.style.insetInlineStart = `${Math.max(this.#view.contentDOM.getBoundingClientRect().left - outer.left, 0)}px`;
  }

  follow({ clientY }: MouseEvent): void {
    const block = this.#view.state.readOnly ? null : this.#blockAt(clientY);
    const place = block && this.#view.coordsAtPos(block.from, 1);
    this.#show(this.#dom, place?.top ?? null);
    if (block) this.#at = block.from;
  }

  hide(): void {
    this.#dom.hidden = true;
    this.#mark.hidden = true;
  }

  destroy(): void {
    this.#dom.remove();
    this.#mark.remove();
  }
}

export const handle = ViewPlugin.define((view) => new Handle(view), {
  eventHandlers: {
    mousemove(event) {
      this.follow(event);
    },
    mouseleave({ relatedTarget }, view) {
      if (!(relatedTarget instanceof Node && view.dom.contains(relatedTarget))) this.hide();
    },
    keydown() {
      this.hide();
    },
  },
});

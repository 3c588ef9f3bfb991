/** A handle beside the block under the pointer, by which it is dragged. The menu *Block* and Alt+arrows do the same without a pointer. */
import { type EditorView, ViewPlugin } from '@codemirror/view';
import { blockAt, moveTo } from './blocks.ts';

const kind = 'application/x-portico-block';

class Handle {
  readonly #dom: HTMLElement;
  readonly #view: EditorView;
  #at: number | null = null;

  constructor(view: EditorView) {
    this.#view = view;
    this.#dom = document.createElement('div');
    Object.assign(this.#dom, {
      className: 'cm-handle',
      draggable: true,
      hidden: true,
      ariaHidden: 'true',
      textContent: '⠿',
    });
    this.#dom.addEventListener('dragstart', ({ dataTransfer }) => {
      dataTransfer?.setData(kind, String(this.#at));
      if (dataTransfer) dataTransfer.effectAllowed = 'move';
    });
    view.dom.append(this.#dom);
  }

  /** The top of the block at a height of the window; null where there is none. */
  #blockAt(clientX: number, clientY: number) {
    const { left, width } = this.#view.contentDOM.getBoundingClientRect();
    const at = this.#view.posAtCoords({ x: Math.min(Math.max(clientX, left + 24), left + width / 2), y: clientY });
    let block = at === null ? null : blockAt(this.#view.state, at);
    while (block?.parent && block.parent.name !== 'Document') block = block.parent;
    return block;
  }

  follow({ clientX, clientY }: MouseEvent): void {
    const block = this.#view.state.readOnly ? null : this.#blockAt(clientX, clientY);
    const place = block && this.#view.coordsAtPos(block.from, 1);
    this.#dom.hidden = !place;
    if (!block || !place) return;
    this.#at = block.from;
    const outer = this.#view.dom.getBoundingClientRect();
    this.#dom.style.insetBlockStart = `${place.top - outer.top}px`;
    this.#dom.style.insetInlineStart = `${Math.max(this.#view.contentDOM.getBoundingClientRect().left - outer.left, 0)}px`;
  }

  hide(): void {
    this.#dom.hidden = true;
  }

  /** @returns whether a block was dragged here */
  drop({ dataTransfer, clientX, clientY }: DragEvent): boolean {
    const data = dataTransfer?.getData(kind);
    if (!data) return false;
    const block = this.#blockAt(clientX, clientY);
    const place = block && this.#view.coordsAtPos(block.from, 1);
    const end = block && this.#view.coordsAtPos(block.to, -1);
    const isBelow = place && end && clientY > (place.top + end.bottom) / 2;
    const before = isBelow ? (block.nextSibling?.from ?? null) : (block?.from ?? null);
    const change = moveTo(this.#view.state, Number(data), before);
    if (change) this.#view.dispatch(change);
    return true;
  }

  destroy(): void {
    this.#dom.remove();
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
    drop(event) {
      if (!this.drop(event)) return false;
      event.preventDefault();
      return true;
    },
  },
});

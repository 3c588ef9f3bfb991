/**
 * Runs in a page of a site while it is edited in a frame of the dashboard, before any script of the page. It marks what can be edited, sends what was
 * clicked and where that is, and shows what is typed. Of the entry it has only what the page shows, and it can change nothing but the page.
 */
import { comparableText } from '../../lib/text.ts';
import type { Box, FromPage, Located, PageElement, PageNode, PagePiece, ToPage } from './messages.ts';

/** Milliseconds between two messages of a kind: the dashboard takes 20 in a second of all kinds. */
const pace = { placed: 60, scrolled: 500 };
/** Milliseconds that the mouse rests on a piece before that is sent. */
const rest = 100;

interface Piece extends PagePiece {
  element: Element;
  /** Its child nodes as they were built; null: nothing was shown in their place yet. */
  built: readonly ChildNode[] | null;
  /** Images that it was built with; null: as above. */
  images: readonly Element[] | null;
  /** Elements that were added behind it. */
  added: Element[];
  /** What is shown in place of what was built, and its letters on the page. */
  shown: { nodes: readonly PageElement[]; letters: string } | null;
}

/** Elements that a text stands around, not in. */
const blocks = new Set(
  'ADDRESS BLOCKQUOTE DETAILS DIV DL FIGURE H1 H2 H3 H4 H5 H6 HR OL P PRE SECTION TABLE UL'.split(' '),
);

/** What a click acts on by itself. */
const controls = 'a, area, audio, button, details, input, label, select, textarea, video, [contenteditable]';

const letters = (text: string) => comparableText(text).replaceAll(' ', '');

/** Runs at most once in some milliseconds, and once more after the last call. */
function paced(pace: number, act: () => void): () => void {
  let isWaiting = false;
  let last = 0;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(
      () => {
        isWaiting = false;
        last = performance.now();
        act();
      },
      Math.max(0, last + pace - performance.now()),
    );
  };
}

/** Whether an element is what a piece was built as, or was made of it here. */
function isOf(element: Element, { text, isImage, shown }: PagePiece & Partial<Piece>): boolean {
  if (isImage !== element instanceof HTMLImageElement) return false;
  if (isImage) return true;
  const found = letters(element.textContent);
  return found.includes(letters(text)) || found === shown?.letters;
}

/** The element of a piece, if it is still what was built. */
function find(piece: PagePiece & Partial<Piece>): Element | null {
  let element: Element | null = null;
  try {
    element = document.querySelector(piece.selector);
  } catch {
    return null;
  }
  return element && isOf(element, piece) ? element : null;
}

/** What an element shows as its own text: its first nodes, up to an element that stands by itself; signs without letters stay (anchors, boxes). */
function ownNodes(element: Element): ChildNode[] {
  const all = [...element.childNodes];
  const end = all.findIndex((node) => node instanceof Element && blocks.has(node.tagName));
  return (end < 0 ? all : all.slice(0, end)).filter(
    (node) =>
      !(node instanceof Element) ||
      node instanceof HTMLImageElement ||
      node.querySelector('img') !== null ||
      (node.tagName !== 'INPUT' && letters(node.textContent) !== ''),
  );
}

/** An address of an image that this page can show: another one is known to the build alone. */
const isShowable = (url: string) => /^(?:https?:\/\/|\/)/i.test(url);

/** Pictures that were not built yet, by their addresses in the text, with the elements that show them. */
const pictures = new Map<string, { address: string | null; elements: HTMLImageElement[] }>();

function pictureOf(url: string) {
  const picture = pictures.get(url) ?? { address: null, elements: [] };
  pictures.set(url, picture);
  return picture;
}

function showPicture(image: HTMLImageElement, url: string): void {
  const { address, elements } = pictureOf(url);
  elements.push(image);
  if (address !== null) image.src = address;
  else if (isShowable(url)) image.src = url;
}

function takePicture(url: string, data: Blob): void {
  const picture = pictureOf(url);
  picture.address ??= URL.createObjectURL(data);
  for (const image of picture.elements) image.src = picture.address;
}

/** @param images of the piece as it was built */
function make(node: PageNode, images: readonly Element[]): Node {
  if (typeof node === 'string') return document.createTextNode(node);
  if (node.tag === 'img') {
    const own = node.built === undefined ? null : images[node.built]?.cloneNode(true);
    const image = own instanceof HTMLImageElement ? own : document.createElement('img');
    if (!own && node.url !== undefined) showPicture(image, node.url);
    image.alt = node.alt ?? '';
    return image;
  }
  const element = document.createElement(node.tag);
  if (element instanceof HTMLAnchorElement && node.url !== undefined) element.href = node.url;
  for (const child of node.children) element.append(make(child, images));
  return element;
}

/** Rows and cells that were taken out of tables and rows, the next to come back last: what is undone has its pieces again. */
const takenOut = new WeakMap<Element, { element: Element; parent: Element }[]>();
const out = new WeakSet<Element>();

function takeOut(from: Element, elements: readonly Element[]): void {
  const stored = takenOut.get(from) ?? [];
  takenOut.set(from, stored);
  for (const element of elements.toReversed()) {
    if (element.parentElement) stored.push({ element, parent: element.parentElement });
    out.add(element);
    element.remove();
  }
}

/** @param last behind which it stood */
function takeBack(to: Element, last: Element): Element | null {
  const stored = takenOut.get(to)?.pop();
  if (!stored) return null;
  const { element, parent } = stored;
  out.delete(element);
  if (last.parentElement === parent) last.after(element);
  else parent.prepend(element);
  return element;
}

const isOut = (element: Element) =>
  out.has(element) || (element.parentElement !== null && out.has(element.parentElement));

/** Fills the cells that are there, and adds and removes rows and cells as the text has them. */
function showTable(table: Element, { children }: PageElement, images: readonly Element[]): void {
  const rows = [...table.querySelectorAll('tr')];
  const wanted = children.filter((row) => typeof row !== 'string');
  for (const [at, { children: cells }] of wanted.entries()) {
    const last = rows.at(-1);
    if (!last) return;
    let row = rows[at] ?? takeBack(table, last);
    if (!row) {
      row = last.cloneNode(true) as HTMLTableRowElement;
      last.after(row);
    }
    if (!(row instanceof HTMLTableRowElement)) return;
    if (!rows[at]) rows.push(row);
    for (const [column, cell] of cells.entries()) {
      if (typeof cell === 'string') continue;
      const before = row.cells[row.cells.length - 1];
      const place = row.cells[column] ?? (before && (takeBack(row, before) ?? before.cloneNode(true)));
      if (!(place instanceof Element)) continue;
      if (!place.isConnected) row.append(place);
      place.replaceChildren(...cell.children.map((child) => make(child, images)));
    }
    takeOut(row, [...row.cells].slice(cells.length));
  }
  takeOut(table, rows.slice(wanted.length));
}

/** The first colour behind an element that is not transparent. */
function backgroundOf(element: Element): string {
  for (let at: Element | null = element; at; at = at.parentElement) {
    const { backgroundColor } = getComputedStyle(at);
    if (!/^rgba\(.*, 0\)$|^transparent$/.test(backgroundColor)) return backgroundColor;
  }
  return 'rgb(255, 255, 255)';
}

/** The elements of two that stand side by side: themselves, or what they stand in; null where one is in the other. */
function sidesOf(one: Element, other: Element): [Element | null, Element | null] {
  const inside = (around: Element | null, within: Element) =>
    [...(around?.children ?? [])].find((child) => child.contains(within)) ?? null;
  let around = one.parentElement;
  while (around && !around.contains(other)) around = around.parentElement;
  return one.contains(other) || other.contains(one) ? [null, null] : [inside(around, one), inside(around, other)];
}

/** What a piece takes of the page: the picture that stands in its place, of a cell the whole table. */
function shownOf({ element, added }: Piece): Element {
  if (element instanceof HTMLImageElement) return element.style.display === 'none' ? (added[0] ?? element) : element;
  return element instanceof HTMLTableCellElement ? (element.closest('table') ?? element) : element;
}

function boxAround(elements: readonly Element[]): Box | null {
  const boxes = elements
    .map((element) => element.getBoundingClientRect())
    .filter(({ width, height }) => width || height);
  if (boxes.length === 0) return null;
  const left = Math.min(...boxes.map((box) => box.left));
  const top = Math.min(...boxes.map((box) => box.top));
  const [right, bottom] = [Math.max(...boxes.map((box) => box.right)), Math.max(...boxes.map((box) => box.bottom))];
  return { left, top, width: right - left, height: bottom - top };
}

/** How far a point is from a box. Lines are read across: what is beside a point is nearer than what is above or below it. */
function distance({ left, top, width, height }: Box, x: number, y: number): number {
  return Math.max(top - y, y - top - height, 0) + Math.max(left - x, x - left - width, 0) / 100;
}

const hasFiles = (event: DragEvent) => event.isTrusted && (event.dataTransfer?.types.includes('Files') ?? false);

class EditedPage {
  #pieces = new Map<number, Piece>();
  /** What is shown behind tables: each cell has all of it. */
  readonly #behind = new WeakMap<Element, Element[]>();
  #byElement = new WeakMap<Element, Piece>();
  #open: Piece | null = null;
  #hovered: Piece | null = null;
  /** The text is edited beside the page: clicks keep what they do there. */
  #isBeside = false;
  readonly #send: (message: FromPage) => void;
  /** In a tree that the page's style sheets do not reach. */
  readonly #frame = document.createElement('div');
  readonly #place = paced(pace.placed, () => this.#sendPlace());
  readonly #host = document.createElement('portico-marks');
  readonly #listeners: readonly (readonly [name: string, act: (event: Event) => void])[];
  #resting: ReturnType<typeof setTimeout> | undefined;
  #isHoverSent = false;
  readonly #sendDragged = paced(pace.scrolled, () => this.#send({ type: 'dragged' }));
  #lost: number[] = [];
  readonly #sendLost = paced(pace.placed, () => this.#send({ type: 'lost', ids: this.#lost.splice(0) }));
  #path = location.pathname;
  readonly #watch = new ResizeObserver(() => this.#place());

  constructor(port: MessagePort) {
    this.#send = (message) => port.postMessage(message);
    port.onmessage = ({ data }: MessageEvent<ToPage>) => this.#receive(data);
    const scrolled = paced(pace.scrolled, () => this.#send({ type: 'scrolled', top: window.scrollY }));
    this.#listeners = [
      ['scroll', () => [scrolled(), this.#place(), this.#mark(), this.#sendHovered()]],
      ['resize', () => [this.#place(), this.#mark()]],
      ['click', (event) => this.#click(event as MouseEvent)],
      ['mouseover', (event) => this.#hover(event as MouseEvent)],
      ['keydown', (event) => this.#press(event as KeyboardEvent)],
      ['dragenter', (event) => this.#drag(event as DragEvent)],
      ['dragover', (event) => this.#drag(event as DragEvent)],
      ['drop', (event) => this.#drag(event as DragEvent)],
    ];
    this.#listen();
    // A script that writes the document anew takes its listeners along.
    new MutationObserver(() => this.#listen()).observe(document, { childList: true });
    window.navigation?.addEventListener('currententrychange', () => this.#goOn());
    this.#host.attachShadow({ mode: 'closed' }).append(this.#frame);
    Object.assign(this.#frame.style, {
      position: 'fixed',
      zIndex: '2147483647',
      pointerEvents: 'none',
      outline: '2px solid rgb(56, 118, 220)',
      outlineOffset: '2px',
      borderRadius: '2px',
      display: 'none',
    });
  }

  #listen(): void {
    for (const [name, act] of this.#listeners)
      window.addEventListener(name, act, { capture: true, passive: /^(?:scroll|resize|mouse)/.test(name) });
    if (this.#pieces.size > 0) document.documentElement?.append(this.#host);
  }

  /** The address is that of another page: what is shown is, or will be. */
  #goOn(): void {
    if (location.pathname === this.#path) return;
    this.#path = location.pathname;
    this.#send({ type: 'went', path: this.#path });
  }

  #receive(message: ToPage): void {
    if (message.type === 'picture') takePicture(message.url, message.data);
    else if (message.type === 'pieces') this.#whenReady(() => this.#findAll(message));
    else if (message.type === 'open') this.#openPiece(message.id);
    else if (message.type === 'order') this.#order(message.ids);
    else if (message.type === 'locate') this.#locate(message);
    else if (message.type === 'tap') this.#tap(message);
    else if (message.type === 'check') {
      this.#findRemoved();
      this.#send({ type: 'here' });
    } else if (message.type === 'scroll') window.scrollBy(0, message.by);
    else if (message.type === 'restore') this.#whenReady(() => window.scrollTo(0, message.top));
    else {
      const piece = this.#pieces.get(message.id);
      if (piece && this.#isHere(piece)) this.#show(piece, message.nodes);
      this.#place();
    }
  }

  #openPiece(id: number | null): void {
    this.#watch.disconnect();
    this.#open = id === null ? null : (this.#pieces.get(id) ?? null);
    if (id !== null && !this.#open) this.#lose(id);
    this.#mark();
    if (!this.#open || !this.#isHere(this.#open)) return;
    this.#observe(this.#open);
    this.#open.element.scrollIntoView({ block: 'nearest' });
    this.#place();
  }

  #observe({ element }: Piece): void {
    this.#watch.disconnect();
    this.#watch.observe(element);
    this.#watch.observe(document.documentElement);
  }

  #whenReady(act: () => void): void {
    if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', act, { once: true });
    else act();
  }

  #findAll({ pieces, beside }: Extract<ToPage, { type: 'pieces' }>): void {
    this.#isBeside = beside;
    document.documentElement.append(this.#host);
    for (const piece of pieces) {
      const element = find(piece);
      if (!element || this.#byElement.has(element)) continue;
      const found: Piece = { ...piece, element, built: null, images: null, added: [], shown: null };
      this.#pieces.set(piece.id, found);
      this.#byElement.set(element, found);
    }
    this.#send({ type: 'found', ids: [...this.#pieces.keys()] });
  }

  #lose(id: number): void {
    this.#lost.push(id);
    this.#sendLost();
  }

  /** Whether a piece is on the page, where a script has put another element in its place as well. A piece that is lost is sent as such. */
  #isHere(piece: Piece): boolean {
    const { element } = piece;
    if (element.isConnected && (piece.shown || isOf(element, piece))) return true;
    if (isOut(element)) return false;
    this.#byElement.delete(element);
    const found = find(piece);
    if (!found || this.#byElement.has(found)) {
      this.#pieces.delete(piece.id);
      if (this.#open === piece) this.#open = null;
      this.#lose(piece.id);
      return false;
    }
    this.#byElement.set(found, piece);
    const { shown } = piece;
    Object.assign(piece, { element: found, built: null, images: null, added: [] });
    if (shown && letters(found.textContent) !== shown.letters) this.#show(piece, shown.nodes);
    if (this.#open === piece) this.#observe(piece);
    return true;
  }

  #pieceOf(target: EventTarget | null): Piece | null {
    for (let at = target instanceof Element ? target : null; at; at = at.parentElement) {
      const piece = this.#byElement.get(at);
      if (piece) return piece;
    }
    return null;
  }

  #findRemoved(): void {
    for (const piece of [...this.#pieces.values()]) if (!piece.element.isConnected) this.#isHere(piece);
  }

  /** The piece at a place that is clicked, if it still is what was built. */
  #pieceHere(target: EventTarget | null): Piece | null {
    const piece = this.#pieceOf(target);
    if (piece) return this.#isHere(piece) ? piece : null;
    this.#findRemoved();
    return this.#pieceOf(target);
  }

  #click(event: MouseEvent): void {
    if (!event.isTrusted || event.button !== 0 || event.ctrlKey || event.metaKey) return;
    if (!this.#opens(event.target, event.clientX, event.clientY)) return;
    // The text is edited in place of what a click does there.
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  /** What is no piece is clicked for the person. */
  #tap({ left, top }: Extract<ToPage, { type: 'tap' }>): void {
    const target = document.elementFromPoint(left, top);
    if (!this.#opens(target, left, top) && target instanceof HTMLElement) target.click();
  }

  /** Sends what a person has clicked. @returns whether that is a piece that opens */
  #opens(target: EventTarget | null, left: number, top: number): boolean {
    const isControl = target instanceof Element && target.closest(controls) !== null;
    if (this.#isBeside && isControl) return false;
    const piece = this.#pieceHere(target) ?? (this.#isBeside ? this.#nearest(left, top) : null);
    const takesKeys = isControl || getSelection()?.isCollapsed === false;
    this.#send({ type: 'clicked', id: piece?.id ?? null, left, top, takesKeys });
    return piece !== null && !this.#isBeside;
  }

  /** The browser would save the page. */
  #press(event: KeyboardEvent): void {
    if (!event.isTrusted || event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey)
      return;
    event.preventDefault();
    if (!event.repeat) this.#send({ type: 'saves' });
  }

  #nearest(left: number, top: number): Piece | null {
    let nearest: Piece | null = null;
    let least = Number.POSITIVE_INFINITY;
    for (const piece of this.#pieces.values()) {
      const far = distance(piece.element.getBoundingClientRect(), left, top);
      if (far < least) [nearest, least] = [piece, far];
    }
    return nearest;
  }

  #locate({ groups, left, top, request }: Extract<ToPage, { type: 'locate' }>): void {
    let at: Located = null;
    let least = Number.POSITIVE_INFINITY;
    for (const [group, ids] of groups.entries()) {
      const pieces = ids.flatMap((id) => this.#pieces.get(id) ?? []);
      const box = boxAround([...new Set(pieces.flatMap((piece) => [shownOf(piece), ...piece.added]))]);
      if (!box) continue;
      const far = distance(box, left, top);
      if (far >= least) continue;
      least = far;
      at = { group, box, isAfter: top > box.top + box.height / 2 };
    }
    this.#send({ type: 'located', request, at });
  }

  #hover({ target }: MouseEvent): void {
    this.#hovered = this.#pieceOf(target);
    this.#mark();
    this.#sendHovered();
  }

  /** Once the mouse rests. What is beside all pieces may be on its way to what the dashboard shows there. */
  #sendHovered(): void {
    clearTimeout(this.#resting);
    if (this.#isBeside) return;
    if (this.#isHoverSent) this.#send({ type: 'hovered', at: null });
    this.#isHoverSent = false;
    this.#resting = setTimeout(() => {
      const piece = this.#hovered;
      const box = piece && boxAround([shownOf(piece)]);
      if (!piece || !box) return;
      // The marks of a list stand beside its items.
      const list = piece.element instanceof HTMLLIElement ? piece.element.parentElement : null;
      if (list) {
        const { right } = piece.element.getBoundingClientRect();
        box.left = Math.min(box.left, list.getBoundingClientRect().left);
        box.width = right - box.left;
      }
      this.#isHoverSent = true;
      this.#send({ type: 'hovered', at: { id: piece.id, box } });
    }, rest);
  }

  /** Files are dropped on what the dashboard lays over the page; a browser would go to them. */
  #drag(event: DragEvent): void {
    if (!hasFiles(event)) return;
    event.preventDefault();
    if (event.type === 'dragenter' && !this.#isBeside) this.#sendDragged();
  }

  /** Marks the piece under the mouse. */
  #mark(): void {
    const piece = this.#hovered === this.#open ? null : this.#hovered;
    this.#frame.style.display = piece ? 'block' : 'none';
    if (!piece) return;
    const shown = piece.element instanceof HTMLImageElement ? shownOf(piece) : piece.element;
    const { left, top, width, height } = shown.getBoundingClientRect();
    Object.assign(this.#frame.style, {
      left: `${left}px`,
      top: `${top}px`,
      width: `${width}px`,
      height: `${height}px`,
    });
  }

  #sendPlace(): void {
    if (!this.#open || !this.#isHere(this.#open)) return;
    const { id, element } = this.#open;
    const { left, top, width, height } = shownOf(this.#open).getBoundingClientRect();
    const { fontFamily, fontSize, lineHeight, fontWeight, fontStyle, textAlign, color } = getComputedStyle(element);
    this.#send({
      type: 'placed',
      id,
      box: { left, top, width, height },
      look: {
        fontFamily,
        fontSize: Number.parseFloat(fontSize),
        lineHeight: lineHeight === 'normal' ? null : Number.parseFloat(lineHeight),
        fontWeight,
        fontStyle,
        textAlign,
        color,
        background: backgroundOf(element),
      },
    });
  }

  #show(piece: Piece, nodes: readonly PageElement[]): void {
    this.#showIn(piece, nodes);
    const { element } = piece;
    // A table is shown as a whole, with all of its cells.
    const table = element instanceof HTMLTableCellElement ? element.closest('table') : null;
    const cells = [...(table?.querySelectorAll('td, th') ?? [])].flatMap((cell) => this.#byElement.get(cell) ?? []);
    for (const one of [piece, ...cells]) one.shown = { nodes, letters: letters(one.element.textContent) };
  }

  #showIn(piece: Piece, nodes: readonly PageElement[]): void {
    const { element } = piece;
    const [first, ...rest] = nodes;
    if (element instanceof HTMLTableCellElement) {
      const table = element.closest('table');
      piece.images ??= [...(table?.querySelectorAll('img') ?? [])];
      if (!table || first?.tag !== 'table') return;
      showTable(table, first, piece.images);
      for (const one of this.#behind.get(table)?.splice(0) ?? []) one.remove();
      this.#behind.set(table, this.#addBehind(table, rest));
      return;
    }
    for (const one of piece.added.splice(0)) one.remove();
    if (element instanceof HTMLElement) element.style.display = first ? '' : 'none';
    if (element instanceof HTMLImageElement) {
      const image = first?.children.find((node) => typeof node !== 'string' && node.tag === 'img');
      if (typeof image !== 'object') return;
      element.alt = image.alt ?? '';
      const picture = element.closest('picture') ?? element;
      if (image.built !== undefined) {
        piece.added.push(...this.#addBehind(picture, rest));
        return;
      }
      // It takes the place of what was built, with all its sizes.
      const made = document.createElement('img');
      made.className = element.className;
      made.alt = element.alt;
      showPicture(made, image.url ?? '');
      element.style.display = 'none';
      picture.after(made);
      piece.added.push(made, ...this.#addBehind(made, rest));
      this.#byElement.set(made, piece);
      return;
    }
    piece.built ??= [...element.childNodes];
    piece.images ??= [...element.querySelectorAll('img')];
    element.replaceChildren(...piece.built);
    if (!first) return;
    this.#showText(element, first, piece.images);
    piece.added.push(...this.#addBehind(element, rest));
  }

  #addBehind(element: Element, nodes: readonly PageElement[]): Element[] {
    // Items of a list stay among themselves.
    const all = nodes.flatMap((node) =>
      element.tagName === 'LI' && (node.tag === 'ul' || node.tag === 'ol') ? node.children : [node],
    );
    const added = all.map((node) => make(node, [])).filter((made) => made instanceof Element);
    for (const made of added) if (made.tagName === element.tagName) made.className = element.className;
    element.after(...added);
    return added;
  }

  /** Moves elements behind the one that comes before them, with what they alone stand in. */
  #order(ids: readonly number[]): void {
    let last: Piece | null = null;
    for (const id of ids) {
      const piece = this.#pieces.get(id);
      if (!piece || !this.#isHere(piece)) continue;
      if (last && last.element !== piece.element) {
        const [before, after] = sidesOf(last.element, piece.element);
        if (before && after && after.compareDocumentPosition(before) & Node.DOCUMENT_POSITION_FOLLOWING) {
          const end = before === last.element ? (last.added.at(-1) ?? before) : before;
          end.after(after, ...(after === piece.element ? piece.added : []));
        }
      }
      last = piece;
    }
    this.#place();
  }

  #showText(element: Element, { tag, children }: PageElement, images: readonly Element[]): void {
    const target = tag === 'pre' ? (element.querySelector('code') ?? element) : element;
    const own = tag === 'pre' ? [...target.childNodes] : ownNodes(target);
    const made = children.map((child) => make(child, images));
    const [before] = own;
    if (before) before.before(...made);
    else target.prepend(...made);
    for (const node of own) node.remove();
  }
}

/** Only the dashboard gets the port, and only when it frames this page. */
function begin(): void {
  const script = document.currentScript;
  const origin = script?.dataset.origin;
  script?.remove();
  if (origin === undefined || window.parent === window) return;
  const { port1, port2 } = new MessageChannel();
  new EditedPage(port1);
  window.parent.postMessage({ portico: 'page', path: location.pathname }, origin, [port2]);
}
begin();

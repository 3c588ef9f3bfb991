/**
 * Messages between the dashboard and the script in an edited page, over a port that the script hands over before any script of the site runs. The page is
 * not trusted: its messages are checked by these schemas, and none of them is text of an entry.
 */
import { z } from 'zod/mini';

/** A node that the page is to show: a text, or an element of a fixed list. */
export type PageNode = string | PageElement;
export interface PageElement {
  tag: PageTag;
  /** Address of a link or an image. */
  url?: string;
  /** Of an image that was built: its place among those of the piece. */
  built?: number;
  /** Alternative text of an image. */
  alt?: string;
  children: PageNode[];
}
type BlockTag = 'p' | `h${1 | 2 | 3 | 4 | 5 | 6}` | 'ul' | 'ol' | 'li' | 'blockquote' | 'pre' | 'hr';
type PageTag = BlockTag | 'table' | 'tr' | 'td' | 'em' | 'strong' | 'del' | 'code' | 'a' | 'img' | 'br' | 'sup';

/** A piece of the page that can be edited. */
export interface PagePiece {
  id: number;
  selector: string;
  /** The beginning of its comparable text; a piece that shows another is not found. */
  text: string;
  isImage: boolean;
}

export type ToPage =
  /** `beside`: the text is edited beside the page, and a click goes to the nearest of them. */
  | { type: 'pieces'; pieces: readonly PagePiece[]; beside: boolean }
  /** Sends the place of a piece from now on, and scrolls to it; null: none is open. */
  | { type: 'open'; id: number | null }
  /** Shows these in place of what was built. */
  | { type: 'show'; id: number; nodes: readonly PageElement[] }
  /** Puts the pieces into this order, as far as they stand side by side. */
  | { type: 'order'; ids: readonly number[] }
  /** Answers which of these groups of pieces is nearest to a point of its window. */
  | { type: 'locate'; groups: readonly (readonly number[])[]; left: number; top: number; request: number }
  /** A person has touched this point of its window, over which something of the dashboard lies: answered like a click there. */
  | { type: 'tap'; left: number; top: number }
  /** Looks for the pieces again, and answers: the frame has loaded something, and it is known of no other page. */
  | { type: 'check' }
  /** The bytes of a picture that was not built yet; its address is that in the text. */
  | { type: 'picture'; url: string; data: Blob }
  | { type: 'scroll'; by: number }
  | { type: 'restore'; top: number };

const path = z.string().check(z.maxLength(8_192));
/** What the script sends to the dashboard's window, with the port. */
const hello = z.object({ portico: z.literal('page'), path });

const pixels = z.number().check(z.gte(-1e6), z.lte(1e6));
const id = z.int().check(z.gte(0), z.lte(100_000));
/** A computed colour: no function that loads anything. */
const colour = z
  .string()
  .check(z.maxLength(100), z.regex(/^(?:rgba?|color|oklch|oklab|lab|lch|hsla?)\([\w\s.,%/+-]*\)$/));
const word = z.string().check(z.maxLength(40), z.regex(/^[a-z0-9 -]*$/));

const box = z.object({ left: pixels, top: pixels, width: pixels, height: pixels });
/** How text looks on the page, as computed there. */
const look = z.object({
  fontFamily: z.string().check(z.maxLength(500), z.regex(/^[\p{L}\p{N}\s"',._-]*$/u)),
  fontSize: pixels,
  /** Null: `normal`. */
  lineHeight: z.nullable(pixels),
  fontWeight: word,
  fontStyle: word,
  textAlign: word,
  color: colour,
  background: colour,
});

const fromPage = z.discriminatedUnion('type', [
  /** Which pieces there are. */
  z.object({ type: z.literal('found'), ids: z.array(id).check(z.maxLength(20_000)) }),
  /**
   * A person has clicked a piece, or what is none; where, in the window of the page. With the text beside it: the nearest piece. `takesKeys`: a control or
   * a selection of the page is used by keyboard then.
   */
  z.object({ type: z.literal('clicked'), id: z.nullable(id), left: pixels, top: pixels, takesKeys: z.boolean() }),
  /** A person saves by keyboard, which the page cannot. */
  z.object({ type: z.literal('saves') }),
  /** Where the open piece is now, in the window of the page. */
  z.object({ type: z.literal('placed'), id, box, look }),
  z.object({ type: z.literal('scrolled'), top: pixels }),
  /** Over which piece the mouse rests, and where that is; null: the page moves under it. */
  z.object({ type: z.literal('hovered'), at: z.nullable(z.object({ id, box })) }),
  /** The answer to `locate`: the nearest group, where it is, and whether the point is in its lower half; null: none is on the page. */
  z.object({
    type: z.literal('located'),
    request: z.int(),
    at: z.nullable(z.object({ group: id, box, isAfter: z.boolean() })),
  }),
  /** Files are dragged over the page. */
  z.object({ type: z.literal('dragged') }),
  /** Scripts of the page have taken pieces away, or made others of them. */
  z.object({ type: z.literal('lost'), ids: z.array(id).check(z.maxLength(20_000)) }),
  /** The answer to `check`. */
  z.object({ type: z.literal('here') }),
  /** A script of the page has made another of it, with an address of its own. */
  z.object({ type: z.literal('went'), path }),
]);
export type FromPage = z.output<typeof fromPage>;
export type Placed = Extract<FromPage, { type: 'placed' }>;
export type Hovered = Extract<FromPage, { type: 'hovered' }>['at'];
export type Located = Extract<FromPage, { type: 'located' }>['at'];
export type Box = z.output<typeof box>;

/** Messages of a page that are taken in a second, and at once after silence. */
const perSecond = 20;

/** What the dashboard takes of a page: too many messages are dropped, and of the pieces it has found only those count that were offered to it. */
export class MessageGate {
  #allowed = perSecond;
  #since = performance.now();
  /** Pieces that it may still answer for: each answer has the text of the entry read anew. */
  #offered: ReadonlySet<number> | null = null;

  /** @returns the path of a page that begins */
  begin(data: unknown): string | null {
    const begun = hello.safeParse(data);
    if (!begun.success || !this.#isAllowed()) return null;
    this.#offered = null;
    return begun.data.path;
  }

  offer(pieces: readonly PagePiece[]): void {
    this.#offered = new Set(pieces.map(({ id }) => id));
  }

  take(data: unknown): FromPage | null {
    if (!this.#isAllowed()) return null;
    const taken = fromPage.safeParse(data);
    if (!taken.success) return null;
    const message = taken.data;
    if (message.type !== 'found') return message;
    const offered = this.#offered;
    this.#offered = null;
    return offered && { ...message, ids: message.ids.filter((id) => offered.has(id)) };
  }

  #isAllowed(): boolean {
    const now = performance.now();
    this.#allowed = Math.min(perSecond, this.#allowed + ((now - this.#since) / 1000) * perSecond);
    this.#since = now;
    if (this.#allowed < 1) return false;
    this.#allowed -= 1;
    return true;
  }
}

import { Tokenizer } from 'htmlparser2';
import type { Carrier } from './carrier.ts';
import type { Rewriting } from './link-mapper.ts';
import { PassingTag } from './passing-tag.ts';
import { PassingText } from './passing-text.ts';
import { rewriteCss } from './rewrite-css.ts';
import { rewriteTag, type TagRewriting } from './tag-links.ts';

/** A tag longer than this goes out as it is; characters. */
const longestTag = 8 * 1024 * 1024;

/**
 * Rewrites the links of an HTML document as it passes: the tokenizer of a parser says where attributes and sheets are, and everything else
 * goes out as it came in. Holds a tag or a `style` element at most.
 */
export class HtmlRewriter {
  readonly #carrier: Carrier;
  readonly #tokenizer: Tokenizer;
  readonly #rewriting: TagRewriting;
  #base: URL;
  #hasBase = false;
  readonly #text = new PassingText();
  /** Up to here everything is decided. */
  #safe = 0;
  #tag: PassingTag | null = null;
  #sheetAt: number | null = null;

  constructor({ url, map }: Rewriting, carrier: Carrier, { isXml = false }: { isXml?: boolean } = {}) {
    this.#carrier = carrier;
    this.#base = url;
    this.#rewriting = {
      map: (link) => map(link, this.#base, 'link'),
      mapBase: (link) => {
        if (this.#hasBase) return null;
        const mapped = map(link, this.#base, 'base');
        this.#hasBase = true;
        this.#base = URL.parse(link, this.#base.href) ?? this.#base;
        return mapped;
      },
      css: (text) => rewriteCss(text, { decode: (real) => real }, this.#rewriting.map),
    };
    this.#tokenizer = new Tokenizer({ xmlMode: isXml, decodeEntities: true }, this.#callbacks());
  }

  /** @param chunk as the carrier gives it. @returns what can go out */
  write(chunk: string): string {
    this.#text.add(chunk);
    this.#tokenizer.write(chunk);
    if (this.#text.heldLength > longestTag) {
      this.#tag = null;
      this.#sheetAt = null;
      this.#safe = this.#text.end;
    }
    this.#text.release(this.#tag ? this.#tag.start : (this.#sheetAt ?? this.#safe));
    return this.#text.taken();
  }

  /** @returns the rest */
  end(): string {
    this.#tokenizer.end();
    this.#text.release(this.#text.end);
    return this.#text.taken();
  }

  #callbacks(): ConstructorParameters<typeof Tokenizer>[1] {
    const passed = (_start: number, end: number) => {
      this.#safe = end;
    };
    return {
      onopentagname: (start, end) => {
        this.#tag = new PassingTag(this.#text.slice(start, end), start - 1);
      },
      onattribname: (start, end) => this.#tag?.begin(this.#text.slice(start, end), start, end),
      onattribdata: (start, end) => this.#tag?.add(this.#text.slice(start, end)),
      onattribentity: (codePoint) => this.#tag?.add(codePoint),
      onattribend: (quote, end) => this.#tag?.endValue(quote, end),
      onopentagend: (at) => this.#endTag(at + 1, false),
      onselfclosingtag: (at) => this.#endTag(at + 1, true),
      onclosetag: (start, end) => {
        if (this.#sheetAt !== null && this.#text.slice(start, end).toLowerCase() === 'style') this.#endSheet(start - 2);
        this.#safe = end;
      },
      ontext: passed,
      ontextentity: (_codePoint, end) => passed(end, end),
      oncomment: passed,
      oncdata: passed,
      ondeclaration: passed,
      onprocessinginstruction: passed,
      onend: () => {},
    };
  }

  #endTag(end: number, isClosed: boolean): void {
    const tag = this.#tag;
    this.#tag = null;
    this.#safe = end;
    if (!tag) return;
    const values = rewriteTag(tag.name, tag.attributes(this.#carrier.decode), this.#rewriting);
    if (values === 'remove') this.#text.replace(tag.start, end, '');
    else for (const [at, value] of values.entries()) if (value !== null) tag.change(at, value, this.#text);
    if (tag.name === 'style' && !isClosed) this.#sheetAt = end;
  }

  #endSheet(end: number): void {
    const start = this.#sheetAt ?? end;
    this.#sheetAt = null;
    this.#text.replace(start, end, rewriteCss(this.#text.slice(start, end), this.#carrier, this.#rewriting.map));
  }
}

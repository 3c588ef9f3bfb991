import { QuoteType, Tokenizer } from 'htmlparser2';
import type { Carrier } from './carrier.ts';
import type { Rewriting } from './link-mapper.ts';
import { rewriteCss } from './rewrite-css.ts';
import { rewriteTag, type TagRewriting } from './tag-links.ts';

/** A tag longer than this goes out as it is; characters. */
const longestTag = 8 * 1024 * 1024;

interface FoundAttribute {
  name: string;
  /** First character of the name, last but one of the value with its quotes. */
  start: number;
  nameEnd: number;
  end: number;
  quote: QuoteType;
  parts: (string | number)[];
}

/** The text of an attribute's value: its own characters and those its references name. */
function textOf(parts: readonly (string | number)[], decode: Carrier['decode']): string {
  let [value, carried] = ['', ''];
  for (const part of parts) {
    if (typeof part === 'string') {
      carried += part;
      continue;
    }
    value += decode(carried) + String.fromCodePoint(part);
    carried = '';
  }
  return value + decode(carried);
}

/** A value between double quotes, whatever the encoding of the document. */
const attributeText = (value: string) =>
  `"${value.replace(/[&"<]|[^ -~]/gu, (character) => `&#${character.codePointAt(0)};`)}"`;

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
  /** What came in and has not gone out; `#start` is the position of its first character in all. */
  #held = '';
  #start = 0;
  #out = '';
  /** Up to here everything is decided. */
  #safe = 0;
  #tag: { name: string; start: number; attributes: FoundAttribute[] } | null = null;
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
    this.#held += chunk;
    this.#tokenizer.write(chunk);
    if (this.#held.length > longestTag) {
      this.#tag = null;
      this.#sheetAt = null;
      this.#safe = this.#start + this.#held.length;
    }
    this.#release(this.#tag ? this.#tag.start : (this.#sheetAt ?? this.#safe));
    return this.#taken();
  }

  /** @returns the rest */
  end(): string {
    this.#tokenizer.end();
    this.#release(this.#start + this.#held.length);
    return this.#taken();
  }

  #taken(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }

  #slice(from: number, to: number): string {
    return this.#held.slice(from - this.#start, to - this.#start);
  }

  /** Lets everything up to a position go out. */
  #release(to: number): void {
    if (to <= this.#start) return;
    this.#out += this.#slice(this.#start, to);
    this.#held = this.#held.slice(to - this.#start);
    this.#start = to;
  }

  /** Puts something in the place of what lies between two positions. */
  #replace(from: number, to: number, by: string): void {
    this.#release(from);
    this.#held = this.#held.slice(to - this.#start);
    this.#start = to;
    this.#out += by;
  }

  #callbacks(): ConstructorParameters<typeof Tokenizer>[1] {
    const passed = (_start: number, end: number) => {
      this.#safe = end;
    };
    return {
      onopentagname: (start, end) => {
        this.#tag = { name: this.#slice(start, end).toLowerCase(), start: start - 1, attributes: [] };
      },
      onattribname: (start, nameEnd) => {
        const name = this.#tag ? this.#slice(start, nameEnd).toLowerCase() : '';
        this.#tag?.attributes.push({ name, start, nameEnd, end: nameEnd, quote: QuoteType.NoValue, parts: [] });
      },
      onattribdata: (start, end) => {
        this.#tag?.attributes.at(-1)?.parts.push(this.#slice(start, end));
      },
      onattribentity: (codePoint) => {
        this.#tag?.attributes.at(-1)?.parts.push(codePoint);
      },
      onattribend: (quote, end) => {
        const attribute = this.#tag?.attributes.at(-1);
        if (!attribute || quote === QuoteType.NoValue) return;
        attribute.quote = quote;
        attribute.end = end;
      },
      onopentagend: (at) => this.#endTag(at + 1, false),
      onselfclosingtag: (at) => this.#endTag(at + 1, true),
      onclosetag: (start, end) => {
        if (this.#sheetAt !== null && this.#slice(start, end).toLowerCase() === 'style') this.#endSheet(start - 2);
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
    const attributes = tag.attributes.map(({ name, parts }) => ({ name, value: textOf(parts, this.#carrier.decode) }));
    const values = rewriteTag(tag.name, attributes, this.#rewriting);
    if (values === 'remove') this.#replace(tag.start, end, '');
    else for (const [at, value] of values.entries()) this.#change(tag.attributes[at], value);
    if (tag.name === 'style' && !isClosed) this.#sheetAt = end;
  }

  #change(attribute: FoundAttribute | undefined, value: string | null | undefined): void {
    if (!attribute || value === null) return;
    if (value === undefined) this.#replace(attribute.start, attribute.end, '');
    else if (attribute.quote !== QuoteType.NoValue)
      this.#replace(attribute.nameEnd, attribute.end, `=${attributeText(value)}`);
  }

  #endSheet(end: number): void {
    const start = this.#sheetAt ?? end;
    this.#sheetAt = null;
    this.#replace(start, end, rewriteCss(this.#slice(start, end), this.#carrier, this.#rewriting.map));
  }
}

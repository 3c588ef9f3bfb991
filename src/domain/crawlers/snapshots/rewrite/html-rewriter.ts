import { QuoteType, Tokenizer } from 'htmlparser2';
import type { Carrier } from './carrier.ts';
import type { Rewriting } from './link-mapper.ts';
import { PassingText } from './passing-text.ts';
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
  readonly #text = new PassingText();
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
        this.#tag = { name: this.#text.slice(start, end).toLowerCase(), start: start - 1, attributes: [] };
      },
      onattribname: (start, nameEnd) => {
        const name = this.#tag ? this.#text.slice(start, nameEnd).toLowerCase() : '';
        this.#tag?.attributes.push({ name, start, nameEnd, end: nameEnd, quote: QuoteType.NoValue, parts: [] });
      },
      onattribdata: (start, end) => {
        this.#tag?.attributes.at(-1)?.parts.push(this.#text.slice(start, end));
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
    const attributes = tag.attributes.map(({ name, parts }) => ({ name, value: textOf(parts, this.#carrier.decode) }));
    const values = rewriteTag(tag.name, attributes, this.#rewriting);
    if (values === 'remove') this.#text.replace(tag.start, end, '');
    else for (const [at, value] of values.entries()) this.#change(tag.attributes[at], value);
    if (tag.name === 'style' && !isClosed) this.#sheetAt = end;
  }

  #change(attribute: FoundAttribute | undefined, value: string | null | undefined): void {
    if (!attribute || value === null) return;
    if (value === undefined) this.#text.replace(attribute.start, attribute.end, '');
    else if (attribute.quote !== QuoteType.NoValue)
      this.#text.replace(attribute.nameEnd, attribute.end, `=${attributeText(value)}`);
  }

  #endSheet(end: number): void {
    const start = this.#sheetAt ?? end;
    this.#sheetAt = null;
    this.#text.replace(start, end, rewriteCss(this.#text.slice(start, end), this.#carrier, this.#rewriting.map));
  }
}

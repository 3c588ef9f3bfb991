import { QuoteType, Tokenizer } from 'htmlparser2';
import { type Carrier, isTooLong, type Rewriting } from './carrier.ts';
import { rewriteCss } from './rewrite-css.ts';
import { type Attribute, rewriteTag, type TagRewriting } from './tag-links.ts';

/** Text that passes: what has come in and has not gone out is held. Positions count from the first character of all that came in. */
class PassingText {
  #held = '';
  /** Position of the first character that is held. */
  #start = 0;
  #out = '';

  /** Takes more in. */
  add(text: string): void {
    this.#held += text;
  }

  get heldLength(): number {
    return this.#held.length;
  }

  /** Where what has come in ends. */
  get end(): number {
    return this.#start + this.#held.length;
  }

  /** What is held between two positions. */
  textBetween(from: number, to: number): string {
    return this.#held.slice(from - this.#start, to - this.#start);
  }

  /** Lets everything up to a position go out. */
  release(to: number): void {
    if (to <= this.#start) return;
    this.#out += this.textBetween(this.#start, to);
    this.#drop(to);
  }

  /** Puts something in the place of what lies between two positions. */
  replace(from: number, to: number, by: string): void {
    this.release(from);
    this.#drop(to);
    this.#out += by;
  }

  /** What has gone out since the last call. */
  taken(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }

  #drop(to: number): void {
    this.#held = this.#held.slice(to - this.#start);
    this.#start = to;
  }
}

interface PassingAttribute {
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
const quoted = (value: string) =>
  `"${value.replace(/[&"<]|[^ -~]/gu, (character) => `&#${character.codePointAt(0)};`)}"`;

/** An opening tag as the tokenizer goes through it, with where its attributes are in the text. */
class PassingTag {
  readonly name: string;
  /** Where its bracket is. */
  readonly start: number;
  readonly #attributes: PassingAttribute[] = [];

  constructor(name: string, start: number) {
    this.name = name.toLowerCase();
    this.start = start;
  }

  /** The name of an attribute, which may have no value. */
  begin(name: string, start: number, end: number): void {
    const quote = QuoteType.NoValue;
    this.#attributes.push({ name: name.toLowerCase(), start, nameEnd: end, end, quote, parts: [] });
  }

  /** A piece of the latest attribute's value: its own characters, or the one that a reference names. */
  add(part: string | number): void {
    this.#attributes.at(-1)?.parts.push(part);
  }

  /** @param end last but one of the value with its quotes */
  endValue(quote: QuoteType, end: number): void {
    const attribute = this.#attributes.at(-1);
    if (!attribute || quote === QuoteType.NoValue) return;
    attribute.quote = quote;
    attribute.end = end;
  }

  /** Names and values, without references. */
  attributes(decode: Carrier['decode']): Attribute[] {
    return this.#attributes.map(({ name, parts }) => ({ name, value: textOf(parts, decode) }));
  }

  /** Gives an attribute another value, or takes it out of the text. */
  change(at: number, value: string | undefined, text: PassingText): void {
    const attribute = this.#attributes[at];
    if (!attribute) return;
    if (value === undefined) text.replace(attribute.start, attribute.end, '');
    else if (attribute.quote !== QuoteType.NoValue) text.replace(attribute.nameEnd, attribute.end, `=${quoted(value)}`);
  }
}

/** A tag or a `style` element longer than this goes out as it is; characters. */
const longestTag = 2 * 1024 * 1024;

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
        if (this.#hasBase || isTooLong(link)) return null;
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
        this.#tag = new PassingTag(this.#text.textBetween(start, end), start - 1);
      },
      onattribname: (start, end) => this.#tag?.begin(this.#text.textBetween(start, end), start, end),
      onattribdata: (start, end) => this.#tag?.add(this.#text.textBetween(start, end)),
      onattribentity: (codePoint) => this.#tag?.add(codePoint),
      onattribend: (quote, end) => this.#tag?.endValue(quote, end),
      onopentagend: (at) => this.#endTag(at + 1, false),
      onselfclosingtag: (at) => this.#endTag(at + 1, true),
      onclosetag: (start, end) => {
        if (this.#sheetAt !== null && this.#text.textBetween(start, end).toLowerCase() === 'style')
          this.#endSheet(start - 2);
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
    this.#text.replace(start, end, rewriteCss(this.#text.textBetween(start, end), this.#carrier, this.#rewriting.map));
  }
}

import { QuoteType } from 'htmlparser2';
import type { Carrier } from './carrier.ts';
import type { PassingText } from './passing-text.ts';
import type { Attribute } from './tag-links.ts';

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
export class PassingTag {
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

import { tokenTypes as T, tokenize } from 'css-tree/tokenizer';
import { ident, string, url } from 'css-tree/utils';
import type { PageFacts, ReadFault } from '../../../ports/page-facts.ts';
import { charsetOf, decodeText, isImage } from './charset.ts';
import { Collector, DocumentBase } from './collector.ts';
import { type DocumentToRead, type GoOn, maxBytes, noDirectives } from './document.ts';

/** Takes an address as the sheet writes it, escapes undone. */
type TakeAddress = (written: string, relation: 'style' | 'import') => void;

/** At-rules whose addresses name something, and load nothing. */
const naming = new Set(['namespace', 'document', '-moz-document', 'charset']);
const addressFunctions = new Set(['url', 'src']);
const imageSets = new Set(['image-set', '-webkit-image-set']);

/** Tokens between two looks at the clock. */
const step = 4_096;

/** Characters of an address or a name as a sheet writes it: to undo its escapes takes many times its memory, and what is longer is none. */
const maxWritten = 16_384;

class Stopped extends Error {}

/** What the tokens so far mean for the next one. */
class Sheet {
  #atRule = '';
  /** An `@import` has given its address: what follows are its layer, its conditions. */
  #isImported = false;
  readonly #functions: string[] = [];
  /** Where an address without quotes begins, after an `url(` that is written with escapes and so is no token of its own. */
  #bare: number | null = null;
  readonly #source: string;
  readonly #take: TakeAddress;

  constructor(source: string, take: TakeAddress) {
    this.#source = source;
    this.#take = take;
  }

  token(type: number, start: number, end: number): void {
    if (type === T.Url) this.#address(url.decode, start, end);
    else if (type === T.String) this.#string(start, end);
    else if (type === T.Function) this.#enter(start, end);
    else if (type === T.LeftParenthesis) this.#functions.push('');
    else if (type === T.RightParenthesis) this.#leave(start);
    else if (type === T.AtKeyword) this.#begin(this.#name(start + 1, end));
    else if (type === T.Semicolon) this.#begin('');
    else if (type === T.LeftCurlyBracket || type === T.RightCurlyBracket) {
      this.#begin('');
      // A function that was never closed ends with its block.
      this.#functions.length = 0;
    }
  }

  #enter(start: number, end: number): void {
    const name = this.#name(start, end - 1);
    this.#functions.push(name);
    if (name === 'url') this.#bare = end;
  }

  #leave(at: number): void {
    const start = this.#functions.pop() === 'url' ? this.#bare : null;
    if (start !== null)
      this.#address((written) => (written.trim() === '' ? null : url.decode(`url(${written})`)), start, at);
    this.#bare = null;
  }

  #name(start: number, end: number): string {
    return end - start > maxWritten ? '' : ident.decode(this.#source.slice(start, end)).toLowerCase();
  }

  #begin(atRule: string): void {
    this.#atRule = atRule;
    this.#isImported = false;
  }

  #string(start: number, end: number): void {
    const inside = this.#functions.at(-1) ?? '';
    this.#bare = null;
    const isImport = this.#atRule === 'import' && this.#functions.length === 0;
    if (!isImport && !addressFunctions.has(inside) && !imageSets.has(inside)) return;
    this.#address(string.decode, start, end);
  }

  #address(decode: (written: string) => string | null, start: number, end: number): void {
    if (naming.has(this.#atRule) || end - start > maxWritten) return;
    const written = decode(this.#source.slice(start, end));
    if (written === null) return;
    if (this.#atRule !== 'import') this.#take(written, 'style');
    else if (!this.#isImported) {
      this.#isImported = true;
      this.#take(written, 'import');
    }
  }
}

/**
 * Finds the addresses of a style sheet or of the declarations of a `style` attribute: `url()`, `src()`, `@import`, `image-set()`. Only
 * tokens are looked at (CSS Syntax 3), so nothing a sheet does wrong hides what follows.
 * @param goOn called now and then; false ends the reading
 */
export function readCss(text: string, take: TakeAddress, goOn: () => boolean = () => true): void {
  const sheet = new Sheet(text, take);
  let left = step;
  try {
    tokenize(text, (type, start, end) => {
      left -= 1;
      if (left === 0) {
        if (!goOn()) throw new Stopped();
        left = step;
      }
      sheet.token(type, start, end);
    });
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
  }
}

/** Reads a style sheet; its addresses are relative to it. */
export function readSheet(sheet: DocumentToRead, goOn: GoOn = () => true): PageFacts {
  const bytes = sheet.bytes.subarray(0, maxBytes);
  const charset = charsetOf(bytes, sheet.contentType, 'css');
  const collector = new Collector(sheet.options, sheet.parserOn);
  const faults: ReadFault[] = sheet.bytes.length > maxBytes ? ['too_large'] : [];
  const facts = (): PageFacts => ({ charset, ...collector.resolve(), robots: noDirectives(), faults: [...faults] });
  if (isImage(bytes)) {
    faults.push('content');
    return facts();
  }
  const base = new DocumentBase(sheet.url);
  let isWhole = true;
  readCss(
    decodeText(bytes, charset),
    (written, relation) => collector.asset(written, relation, base),
    () => {
      isWhole = goOn(facts);
      return isWhole;
    },
  );
  if (!isWhole) faults.push('time');
  return facts();
}

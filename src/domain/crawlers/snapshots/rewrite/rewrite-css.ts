import { string, tokenize, tokenTypes, url } from 'css-tree';
import type { Carrier } from './carrier.ts';

/** Functions whose strings are URLs. */
const urlFunctions = new Set(['url(', 'src(', 'image-set(', '-webkit-image-set(']);

/** A string that can stand in a sheet, in an attribute, and in an element `style`. */
const quoted = (link: string) =>
  `"${link.replace(/["\\<\n\r\f]/g, (character) => `\\${character.charCodeAt(0).toString(16)} `)}"`;

/** Characters of an address as a sheet writes it, in escapes; to undo them takes many times its memory, and a longer one stays. */
const longestToken = 16_384;

/** Walks the tokens of a sheet, telling where a string is a URL. */
class Places {
  readonly #functions: string[] = [];
  #rule = '';

  see(type: number, text: string): void {
    if (type === tokenTypes.AtKeyword) this.#rule = text.toLowerCase();
    else if (type === tokenTypes.Semicolon || type === tokenTypes.LeftCurlyBracket) this.#rule = '';
    else if (type === tokenTypes.Function) this.#functions.push(text.toLowerCase());
    else if (type === tokenTypes.LeftParenthesis) this.#functions.push('(');
    else if (type === tokenTypes.RightParenthesis) this.#functions.pop();
  }

  /** Names of namespaces look like URLs and lead nowhere. */
  get isName(): boolean {
    return this.#rule === '@namespace';
  }

  get isUrl(): boolean {
    const inside = this.#functions.at(-1);
    return inside === undefined ? this.#rule === '@import' : urlFunctions.has(inside);
  }

  /** What comes after the URL of an `@import` is no other one. */
  used(): void {
    if (this.#functions.length === 0) this.#rule = '';
  }
}

/**
 * Rewrites the URLs of a sheet, or of a list of declarations; everything else stays byte for byte.
 * @param text as the carrier gives it
 */
export function rewriteCss(
  text: string,
  carrier: Pick<Carrier, 'decode'>,
  map: (link: string) => string | null,
): string {
  const places = new Places();
  let written = '';
  let done = 0;
  const replace = (start: number, end: number, by: string) => {
    written += text.slice(done, start) + by;
    done = end;
  };
  tokenize(text, (type: number, start: number, end: number) => {
    if (end - start > longestToken) return;
    const token = text.slice(start, end);
    if (type === tokenTypes.Url && !places.isName) {
      const link = map(carrier.decode(url.decode(token)));
      if (link !== null) replace(start, end, `url(${quoted(link)})`);
    } else if (type === tokenTypes.String && !places.isName && places.isUrl) {
      const link = map(carrier.decode(string.decode(token)));
      if (link !== null) replace(start, end, quoted(link));
      places.used();
    } else places.see(type, token);
  });
  return written + text.slice(done);
}

import { legacyBytes } from '../pages/legacy-bytes.ts';

/** Written as they are where they stand in a query (WHATWG URL 1.3, special-query percent-encode set). */
const plain = /[!$%&()*+,\-./0-9:;=?@A-Z[\\\]^_`a-z{|}~]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all but ASCII is what is meant
const foreign = /[^\u0000-\u007f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all but ASCII is what is meant
const foreigners = /[^\u0000-\u007f]+/gu;

const escaped = (bytes: Iterable<number>): string =>
  Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    return plain.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');

/** What an encoding has no bytes for is named by its number, as a form would. */
const named = (character: string) => `%26%23${character.codePointAt(0)}%3B`;

const writtenIn = (encoding: string, text: string): string =>
  Array.from(text, (character) => {
    const bytes = legacyBytes(encoding, character);
    return bytes ? escaped(bytes) : named(character);
  }).join('');

/** ISO-2022-JP shifts to two-byte characters, which are those of EUC-JP without their highest bits, and back. */
function shifted(text: string): string {
  let [written, isShifted] = ['', false];
  const shift = (to: boolean) => {
    if (isShifted !== to) written += to ? '%1B$B' : '%1B(B';
    isShifted = to;
  };
  for (const character of text) {
    const bytes = legacyBytes('euc-jp', character);
    const isTwo = bytes?.length === 2 && bytes[0] !== 0x8e;
    shift(isTwo);
    written += isTwo ? escaped(bytes.map((byte) => byte & 0x7f)) : named(character);
  }
  shift(false);
  return written;
}

/** In which encoding a document of another writes queries (WHATWG Encoding 4.3); null: UTF-8. */
function outputEncoding(label: string | null): string | null {
  if (label === null) return null;
  try {
    const { encoding } = new TextDecoder(label);
    return /^utf-|^replacement$/.test(encoding) ? null : encoding;
  } catch {
    return null;
  }
}

/**
 * A link with its query as a document in an older encoding sends it: servers of such sites expect its bytes there, not those of UTF-8
 * (WHATWG URL 4.4, query state). Everything else of the link stays.
 * @param label of the document's encoding; null, or an unknown one, is UTF-8
 */
export function encodeQuery(link: string, label: string | null): string {
  const at = link.indexOf('?');
  if (at < 0 || !foreign.test(link)) return link;
  const encoding = outputEncoding(label);
  if (encoding === null) return link;
  const hash = link.indexOf('#');
  if (hash >= 0 && hash < at) return link;
  const end = hash < 0 ? link.length : hash;
  const query = link.slice(at, end).toWellFormed();
  const write = encoding === 'iso-2022-jp' ? shifted : (text: string) => writtenIn(encoding, text);
  return link.slice(0, at) + query.replace(foreigners, write) + link.slice(end);
}

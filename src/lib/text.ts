/** The beginning of a text that is too long to be shown. */
export const shortened = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;

/** A number with its noun: `1 file`, `2 files`; the plural of most nouns need not be given. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

/** A text as the part of a pattern that stands for it alone. */
export const literally = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** The pattern by which `ilike` finds texts that hold another, in letters of either case. */
export const holding = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;

/** A path with its segments percent-encoded. */
export const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

/** A text without percent-encoding; as it is where it is not well-formed. */
export function decodedUri(text: string): string {
  try {
    return decodeURI(text);
  } catch {
    return text;
  }
}

/** Marks that are normalised together. A name of 255 bytes has no more in a row; more make no word of any language. */
const marksTogether = 128;
/** Halfwidth sound marks of Japanese are letters, and become marks. */
const mark = String.raw`\p{M}\uff9e\uff9f`;
/** Begins before a run of marks, so that each run is read once. */
const longRun = new RegExp(`(?:^|[^${mark}])[${mark}]{${marksTogether + 1}}`, 'u');
const pieces = new RegExp(`[^${mark}]+[${mark}]{0,${marksTogether}}|[${mark}]{1,${marksTogether}}`, 'gu');

/**
 * A text in a normal form of Unicode, in a time that grows with its length: `normalize` puts each mark in its place among those before it, which
 * takes seconds for 100,000 in a row. Longer runs than any text needs are cut, as the Stream-Safe Text Format does (Unicode Standard Annex 15),
 * but without a sign between their pieces.
 */
export function normalized(text: string, form: 'NFC' | 'NFD' | 'NFKC' | 'NFKD' = 'NFC'): string {
  if (text.length <= marksTogether || !longRun.test(text)) return text.normalize(form);
  return text.replace(pieces, (piece) => piece.normalize(form));
}

/**
 * The small letters that differ from those of their capitals (Unicode 17). The capitals of the dotless i are I, which file systems take for
 * another letter.
 */
const otherThanByCapitals =
  /[\u0345\u00b5\u00df\u0149\u017f\u01f0\u0390\u03b0\u03c2\u03d0\u03d1\u03d5\u03d6\u03f0\u03f1\u03f5\u0587\u1c80-\u1c88\u1e96-\u1e9b\u1f50\u1f52\u1f54\u1f56\u1f80-\u1f87\u1f90-\u1f97\u1fa0-\u1fa7\u1fb2-\u1fb4\u1fb6\u1fb7\u1fbe\u1fc2-\u1fc4\u1fc6\u1fc7\u1fd2\u1fd3\u1fd6\u1fd7\u1fe2-\u1fe4\u1fe6\u1fe7\u1ff2-\u1ff4\u1ff6\u1ff7\ufb00-\ufb06\ufb13-\ufb17]/u;
/** What each of them becomes, by its code: a name may be made of them alone, and a call for each letter costs many times what a look here does. */
const byCapitals = new Map<number, string>();
for (let code = 0; code <= 0xffff; code += 1) {
  const letter = String.fromCharCode(code);
  if (otherThanByCapitals.test(letter)) byCapitals.set(code, letter.toUpperCase().toLowerCase());
}

/** A text of small letters with those of their capitals. */
function smallByCapitals(text: string): string {
  if (!otherThanByCapitals.test(text)) return text;
  let [made, kept] = ['', 0];
  for (let at = 0; at < text.length; at += 1) {
    const other = byCapitals.get(text.charCodeAt(at));
    if (other === undefined) continue;
    made += text.slice(kept, at) + other;
    kept = at + 1;
  }
  return made + text.slice(kept);
}

/**
 * The form of a name in which names that file systems may take for the same one are equal, as those of Windows and macOS do: full case folding
 * (Unicode Standard, 3.13), which is what letters have in common by their capitals, as `ς` and `σ`, `ß` and `ss`, `ſ` and `s`, and not by small
 * letters alone.
 */
export const foldCase = (name: string): string => normalized(smallByCapitals(normalized(name).toLowerCase()));

/**
 * Text as page and source are compared by: letters, marks and digits in NFKC and lower case, with one space between words. Quotes, dashes, dots
 * and every other sign go, since generators replace them by others (typography), or add their own (anchors, pilcrows).
 */
export function comparableText(text: string): string {
  return normalized(text, 'NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
}

const secretText =
  /\b(ptc_[0-9A-Za-z]{36}|whk_[\w-]{8,}|whsec_[\w+/=-]{8,}|ptr_[0-9A-Za-z]{8,})|(\/(?:setup|join|reset)#)[\w-]+|(\/webhooks\/[^\s"?]*\?)[^\s"]+/g;

/** Removes what must not reach a log, or the audit log, from any text: tokens, secrets, one-time links, query strings of webhooks. */
export function redactText(text: string): string {
  return text.replace(secretText, (_match, token?: string, link?: string, webhook?: string) =>
    token ? `${token.slice(0, 4)}[redacted]` : `${link ?? webhook}[redacted]`,
  );
}

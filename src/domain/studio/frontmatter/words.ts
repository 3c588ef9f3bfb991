const searchedBytes = 256 * 1024;
/** Longest word, in characters: what PostgreSQL takes as one lexeme has at most 2,046 bytes. */
const word = /[\p{L}\p{N}]{1,255}/gu;
/** Bytes of all words of a text; a tsvector has at most 1 MiB. Folding makes few texts longer, but those of ligatures much. */
const wordsBytes = 1_000_000;

/** Folds case and accents, so that `Élan` is found by `elan`: NFKD, marks removed, lower case. */
export function foldText(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '');
}

/** The folded words (letters and digits) of a text, in order; a run of more than 255 is several words. */
export const splitWords = (text: string): string[] => foldText(text).match(word) ?? [];

/** The distinct folded words of the first 256 KiB of a text, in order of appearance; at most 1 MB of them. */
export function words(text: string): string[] {
  const distinct = [...new Set(splitWords(head(text)))];
  let left = wordsBytes;
  const over = distinct.findIndex((one) => {
    left -= Buffer.byteLength(one);
    return left < 0;
  });
  return over === -1 ? distinct : distinct.slice(0, over);
}

function head(text: string): string {
  if (text.length * 3 <= searchedBytes) return text;
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= searchedBytes) return text;
  return bytes.toString('utf8', 0, searchedBytes).replace(/\ufffd+$/, ''); // a character cut in two
}

import { normalized } from '../../../lib/text.ts';

const searchedBytes = 256 * 1024;
/** Scripts that are written without spaces between words. */
const spaceless = String.raw`[[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}]&&[\p{L}\p{N}]]`;
/** A run of such a script, or a word; the longest has 255 characters: what PostgreSQL takes as one lexeme has at most 2,046 bytes. */
const run = new RegExp(`${spaceless}+|[[\\p{L}\\p{N}]--${spaceless}]{1,255}`, 'gv');
const isSpaceless = new RegExp(`^${spaceless}`, 'v');
/** Most texts are, and most words: what is said of other letters need not be looked up for each of theirs. */
const isAscii = /^\p{ASCII}*$/u;
const asciiWord = /[a-z\d]{1,255}/g;
/** Bytes of all words of a text; a tsvector has at most 1 MiB. Folding makes few texts longer, but those of ligatures much. */
const wordsBytes = 1_000_000;

/** Folds case and accents, so that `Élan` is found by `elan` and `Straße` by `strasse`: NFKD, marks removed, upper and then lower case. */
export function foldText(text: string): string {
  if (isAscii.test(text)) return text.toLowerCase();
  const plain = (some: string) => normalized(some, 'NFKD').replace(/\p{M}+/gu, '');
  return plain(plain(text).toUpperCase().toLowerCase().replaceAll('ς', 'σ'));
}

/** What stands for each run of a text: a word for itself, a run without spaces for what `pieces` makes of its characters. */
function piecesOf(text: string, pieces: (characters: readonly string[]) => readonly string[]): readonly string[] {
  const folded = foldText(text);
  if (isAscii.test(folded)) return folded.match(asciiWord) ?? [];
  const runs: readonly string[] = folded.match(run) ?? [];
  return runs.flatMap((found) => (isSpaceless.test(found) ? pieces([...found]) : found));
}

const pairsOf = (characters: readonly string[]) => characters.slice(1).map((next, at) => `${characters[at]}${next}`);

/**
 * The folded words (letters and digits) that a text searches for, in order; a run of more than 255 is several words. Chinese and Japanese are searched
 * by pairs of characters, as nothing tells where their words begin; a character that stands alone by itself.
 */
export const splitWords = (text: string): readonly string[] =>
  piecesOf(text, (characters) => (characters.length === 1 ? characters : pairsOf(characters)));

/** The words a text is found by: beside those it would ask for every character of a run without spaces. */
const indexedWords = (text: string) => piecesOf(text, (characters) => [...characters, ...pairsOf(characters)]);

/** The distinct folded words of the first 256 KiB of a text, in order of appearance; at most 1 MB of them. */
export function words(text: string): string[] {
  const distinct = [...new Set(indexedWords(head(text)))];
  // No character has more than three bytes to a UTF-16 unit.
  if (3 * distinct.reduce((sum, { length }) => sum + length, 0) <= wordsBytes) return distinct;
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
  return bytes.toString('utf8', 0, searchedBytes).replace(/(?<!\ufffd)\ufffd+$/, ''); // a character cut in two
}

const searchedBytes = 256 * 1024;

/** Folds case and accents, so that `Élan` is found by `elan`: NFKD, marks removed, lower case. */
export function foldText(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '');
}

/** The distinct folded words (letters and digits) of the first 256 KiB of a text, in order of appearance. */
export function words(text: string): string[] {
  return [...new Set(foldText(head(text)).match(/[\p{L}\p{N}]+/gu) ?? [])];
}

function head(text: string): string {
  if (text.length * 3 <= searchedBytes) return text;
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= searchedBytes) return text;
  return bytes.toString('utf8', 0, searchedBytes).replace(/\ufffd+$/, ''); // a character cut in two
}

const allowed = /[\p{L}\p{Nd}\p{M}./\\_#+~@-]/u;

/**
 * A path or title as Hugo writes it in URLs: letters, digits, marks and a few signs stay, spaces become one hyphen, the rest goes.
 * @param lower whether letters become small
 */
export function sanitize(text: string, lower: boolean): string {
  let result = '';
  let pending = false;
  let hyphen = false;
  for (const char of text.normalize('NFC')) {
    if (allowed.test(char)) {
      hyphen = char === '-';
      if (pending && !hyphen) result += '-';
      pending = false;
      result += char;
    } else if (result !== '' && !hyphen && /\s/u.test(char)) pending = true;
  }
  return lower ? result.toLowerCase() : result;
}

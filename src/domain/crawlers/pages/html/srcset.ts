const blank = (code: number) => code === 32 || code === 9 || code === 10 || code === 12 || code === 13;
const comma = 44;

/** Where the descriptors after a URL end: at a comma outside of parentheses. */
function endOfDescriptors(text: string, from: number): number {
  let isInParentheses = false;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === '(') isInParentheses = true;
    else if (character === ')') isInParentheses = false;
    else if (character === ',' && !isInParentheses) return at;
  }
  return text.length;
}

/**
 * The addresses of a `srcset` (HTML 4.8.4.2.2): split at blanks, not at commas, which addresses may contain. Those with unusable
 * descriptors are given, too.
 */
export function parseSrcset(text: string): string[] {
  const urls: string[] = [];
  let at = 0;
  const isBetween = (code: number) => blank(code) || code === comma;
  while (at < text.length) {
    while (at < text.length && isBetween(text.charCodeAt(at))) at += 1;
    const start = at;
    while (at < text.length && !blank(text.charCodeAt(at))) at += 1;
    let end = at;
    while (end > start && text.charCodeAt(end - 1) === comma) end -= 1;
    if (end > start) urls.push(text.slice(start, end));
    // A comma at its end means that the address has no descriptors.
    if (end === at) at = endOfDescriptors(text, at);
  }
  return urls;
}

const isSpace = (character: string) => /^[\t\n\f\r ]$/.test(character);

/** End of the descriptors that begin at a position: the comma behind them, which does not count inside parentheses, or the end. */
function afterDescriptors(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')') depth = Math.max(depth - 1, 0);
    else if (text[at] === ',' && depth === 0) return at;
  }
  return text.length;
}

/** Rewrites the URLs of a `srcset` (HTML 4.8.4.2.1), which may hold commas themselves; everything else stays. */
export function rewriteSrcset(text: string, map: (url: string) => string | null): string {
  let written = '';
  let at = 0;
  while (at < text.length) {
    const from = at;
    while (at < text.length && (isSpace(text[at] ?? '') || text[at] === ',')) at += 1;
    const start = at;
    while (at < text.length && !isSpace(text[at] ?? '')) at += 1;
    let end = at;
    while (end > start && text[end - 1] === ',') end -= 1;
    const url = text.slice(start, end);
    written += text.slice(from, start) + (url === '' ? '' : (map(url) ?? url));
    // A comma at the end of a URL ends the candidate; it has no descriptors then.
    if (end === at) at = afterDescriptors(text, at);
    written += text.slice(end, at);
  }
  return written;
}

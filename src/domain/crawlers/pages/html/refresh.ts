/** Longer waits are no redirects but pages that renew themselves, seconds. */
const longestWait = 10;

const blank = '[\\t\\n\\f\\r ]*';
const form = new RegExp(`^${blank}(?:(\\d+)[\\d.]*|\\.[\\d.]*)(?:${blank}[;,]${blank}|[\\t\\n\\f\\r ]+)([\\s\\S]*)$`);
const prefix = new RegExp(`^url${blank}=${blank}`, 'i');

/**
 * Where a `<meta http-equiv=refresh>` leads (HTML 4.2.5.3).
 * @param content its attribute
 * @returns null when it names no address or waits longer than 10 s
 */
export function refreshTarget(content: string): string | null {
  const [, seconds = '0', rest = ''] = form.exec(content) ?? [];
  if (rest === '' || Number(seconds) > longestWait) return null;
  const target = rest.replace(prefix, '');
  const quote = target[0];
  if (quote !== '"' && quote !== "'") return target.trim() || null;
  const end = target.indexOf(quote, 1);
  return target.slice(1, end === -1 ? undefined : end).trim() || null;
}

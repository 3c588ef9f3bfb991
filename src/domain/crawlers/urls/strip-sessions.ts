const pathSession = /;jsessionid=[^;/]*/gi;

/** Takes `;jsessionid=…` off every segment of a path. */
export const stripPath = (path: string): string => (path.includes(';') ? path.replace(pathSession, '') : path);

const sessions = ['phpsessid', 'aspsessionid*'];

const isNamed = (name: string, patterns: readonly string[]) =>
  patterns.some((pattern) => {
    const wanted = pattern.toLowerCase();
    return wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted;
  });

/**
 * Takes session ids and parameters that only track visitors off a query; the others stay as they are, in their order.
 * @param search with its `?`, escapes in their normal form; may be empty
 * @param stripParams further names, case ignored; `*` at the end stands for any
 */
export function stripQuery(search: string, stripParams: readonly string[]): string {
  if (search.length <= 1) return '';
  const parts = search.slice(1).split('&');
  const kept = parts.filter((part) => {
    const name = (part.split('=', 1)[0] ?? '').toLowerCase();
    return !isNamed(name, sessions) && !isNamed(name, stripParams);
  });
  if (kept.length === parts.length) return search;
  return kept.length === 0 || (kept.length === 1 && kept[0] === '') ? '' : `?${kept.join('&')}`;
}

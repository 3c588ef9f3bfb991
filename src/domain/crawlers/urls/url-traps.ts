/** The traps that a URL alone shows. */
export type UrlTrap = 'url_shape' | 'repeated_segment';

export const urlTrapBounds = { characters: 2_048, segments: 32, parameters: 32, inRow: 3, inAll: 5 };

/** The trap a normalised URL is, or null: too long, too deep or with too many parameters; a segment over and over. */
export function urlTrap(url: URL): UrlTrap | null {
  const { href, pathname, search } = url;
  if (href.length > urlTrapBounds.characters) return 'url_shape';
  const segments = pathname.slice(1).split('/');
  if (segments.at(-1) === '') segments.pop();
  if (segments.length > urlTrapBounds.segments) return 'url_shape';
  if (search !== '' && search.split('&').length > urlTrapBounds.parameters) return 'url_shape';
  return hasRepeats(segments) ? 'repeated_segment' : null;
}

function hasRepeats(segments: readonly string[]): boolean {
  if (segments.length <= urlTrapBounds.inRow) return false;
  const counts = new Map<string, number>();
  let inRow = 0;
  let before: string | undefined;
  for (const segment of segments) {
    inRow = segment === before ? inRow + 1 : 1;
    before = segment;
    const count = (counts.get(segment) ?? 0) + 1;
    counts.set(segment, count);
    if (inRow > urlTrapBounds.inRow || count > urlTrapBounds.inAll) return true;
  }
  return false;
}

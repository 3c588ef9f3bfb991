const longest = 50;

/** A name as a part of a host name: `[a-z0-9-]`, no `-` at either end, never `--` as 2nd and 3rd characters (those mean other things). */
export function slugFrom(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, longest)
    .replace(/^-+|-+$/g, '');
  return plain || 'environment';
}

/** The slug, or the first of it with a number at its end that nobody has. */
export function freeSlug(slug: string, taken: ReadonlySet<string>): string {
  if (!taken.has(slug)) return slug;
  for (let number = 2; ; number++) {
    const next = `${slug.slice(0, longest - 4)}-${number}`.replace(/--+/g, '-');
    if (!taken.has(next)) return next;
  }
}

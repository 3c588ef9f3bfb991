const dropped = /[^\p{Alphabetic}\p{M}\p{Nd}\p{Nl}\p{Pc}\- ]/gu;

/** A heading or name as GitHub makes anchors of it: small letters, digits and hyphens, without the rest. */
export const githubSlug = (text: string): string => text.toLowerCase().replace(dropped, '').replaceAll(' ', '-');

/** The id of an entry by its path below the collection's base, without extension. */
export function entryId(stem: string, slug: unknown): string {
  if (typeof slug === 'string' && slug !== '') return slug;
  return stem
    .split('/')
    .map(githubSlug)
    .join('/')
    .replace(/\/index$/, '');
}

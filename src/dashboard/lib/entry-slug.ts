/** Names in addresses as they are typed: what an address can have, before the server is asked. */

/** Text typed for a name in an address: spaces become hyphens. */
export const typedSlug = (text: string): string => text.normalize('NFC').replace(/\s+/g, '-');

/** A key of the texts, and the characters that it names. */
export interface SlugProblem {
  key: 'common:slug_characters' | 'common:slug_segments' | 'common:slug_dot';
  characters: string;
}

/** @returns what is wrong with a name in an address; null when nothing is, or nothing is typed yet */
export function slugProblem(slug: string): SlugProblem | null {
  if (slug === '') return null;
  const strange = new Set(slug.match(/[^\p{L}\p{M}\p{N}/._~@+=,!()'&$-]/gu));
  if (strange.size > 0) return { key: 'common:slug_characters', characters: [...strange].slice(0, 5).join(' ') };
  const segments = slug.split('/');
  if (segments.some((part) => part === '' || part === '.' || part === '..'))
    return { key: 'common:slug_segments', characters: '' };
  return segments.some((part) => part.endsWith('.')) ? { key: 'common:slug_dot', characters: '' } : null;
}

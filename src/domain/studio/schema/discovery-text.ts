import { withMatches } from './claims.ts';
import type { Discovery } from './collection-schema.ts';

/**
 * Counts up when a site would be read otherwise than before, or what is found would be written otherwise. What an older version stored is then not
 * found any more.
 */
export const discoveryVersion = 1;

/** Writes a discovery as JSON text. */
export function discoveryText(discovery: Discovery): string {
  return JSON.stringify({ ...discovery, schemas: discovery.schemas.map(({ matches: _, ...schema }) => schema) });
}

/** Reads what `discoveryText` of the same version wrote. */
export function discoveryOf(text: string): Discovery {
  const discovery = JSON.parse(text) as Discovery;
  return { ...discovery, schemas: withMatches(discovery.schemas, discovery.precedence) };
}

import type { SchemaReader } from '../reader.ts';

/** Content collections of Astro. */
export const astroReader: SchemaReader = { name: 'astro', read: async () => [] };

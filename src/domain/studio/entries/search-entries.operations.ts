import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { pageFrom, pageInput, pageOf, windowOf } from '../../paging.ts';
import type { IndexedEntry } from '../content/collection-index.ts';
import { searchWords } from '../content/search.ts';
import { pageSnapshot, refInput } from '../repository/refs.ts';
import { entryRoutes, urlMember } from '../routes/entry-routes.ts';
import { entrySummary } from './entries.schema.ts';
import { summaryOf } from './entry-record.ts';

export const searchEntries = projectOperation({
  name: 'studio.searchEntries',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Find entries of all collections by their words',
  input: z.object({
    q: z
      .string()
      .trim()
      .min(1, 'must not be empty')
      .max(500, 'must be at most 500 characters')
      .describe('Words; the last one may be unfinished. Text without letters and digits finds nothing'),
    ...refInput,
    ...pageInput,
  }),
  output: pageOf(entrySummary),
  async execute(context, { q, ...input }) {
    const { git, services } = context;
    const window = windowOf(input);
    const snapshot = await pageSnapshot(git, window, input);
    const site = await services.content.site(git, snapshot);
    const wanted = searchWords(q);
    const found: (IndexedEntry & { collection: string })[] = [];
    for (const [collection, index] of site.collections) {
      const matching = await services.content.search(git, index.entries, wanted);
      found.push(...index.entries.filter((entry) => matching.has(entry)).map((entry) => ({ ...entry, collection })));
    }
    const places = found.slice(window.offset, window.offset + window.limit);
    const facts = await services.content.listedFacts(git, snapshot, places);
    const routes = await entryRoutes(context, snapshot);
    const items = places.flatMap((place, at) => {
      const known = facts[at];
      if (!known) return [];
      const url = urlMember(routes, place.collection, place, known.frontmatter);
      return [{ ...summaryOf(place.collection, place, known), ...url }];
    });
    return pageFrom(items, found.length, window, snapshot.commit);
  },
});

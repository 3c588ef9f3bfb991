import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { entryIn, type IndexedEntry } from '../content/collection-index.ts';
import { snapshotOf } from '../repository/refs.ts';
import { entryRoutes, urlMember } from '../routes/entry-routes.ts';
import { entrySummary } from './entries.schema.ts';
import { summaryOf } from './entry-record.ts';
import { entriesInput } from './references.operations.ts';

export const listTranslations = projectOperation({
  name: 'studio.listTranslations',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'The same entries in other languages, for each in the order asked',
  input: z.object(entriesInput),
  output: z.array(z.array(entrySummary)),
  async execute(context, { collection, slugs, ...at }) {
    const { git, services } = context;
    const snapshot = await snapshotOf(git, at);
    const routes = await entryRoutes(context, snapshot);
    const site = await services.content.site(git, snapshot);
    const index = site.collection(collection);
    const asked = slugs.map((slug) => entryIn(index, slug));
    const keys = new Set(asked.map((entry) => entry.translation_key));
    const byKey = Map.groupBy(
      index.entries.filter(({ translation_key: key }) => key !== undefined && keys.has(key)),
      (entry) => entry.translation_key,
    );
    const others = ({ path, translation_key }: IndexedEntry) =>
      (byKey.get(translation_key) ?? []).filter((entry) => entry.path !== path);
    return Promise.all(
      asked.map(async (entry) => {
        const places = others(entry);
        const facts = await services.content.listedFacts(git, snapshot, places);
        return places.flatMap((place, n) => {
          const known = facts[n];
          if (!known) return [];
          const url = urlMember(routes, collection, place, known.frontmatter);
          return [{ ...summaryOf(collection, place, known), ...url }];
        });
      }),
    );
  },
});

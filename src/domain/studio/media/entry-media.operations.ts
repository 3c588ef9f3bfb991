import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { entryIn } from '../content/collection-index.ts';
import { entriesInput } from '../entries/references.operations.ts';
import { snapshotOf } from '../repository/refs.ts';
import { entryRoutes } from '../routes/entry-routes.ts';
import { media } from './media.schema.ts';
import { mediaFacts } from './media-facts.ts';
import { mediaRecord } from './media-record.ts';
import { mentionedMedia } from './mentioned-media.ts';

export const listEntryMedia = projectOperation({
  name: 'studio.listEntryMedia',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Files that entries of a collection show or link to, for each in the order asked',
  input: z.object(entriesInput),
  output: z.array(z.array(media)),
  async execute(context, { collection, slugs, ...at }) {
    const { git, services } = context;
    const snapshot = await snapshotOf(git, at);
    const site = await services.content.site(git, snapshot);
    const { base } = await entryRoutes(context, snapshot);
    const index = site.collection(collection);
    const entries = slugs.map((slug) => entryIn(index, slug));
    const oids = new Map((await snapshot.files()).map((file) => [file.path, file.oid]));
    const found: string[][] = [];
    for await (const { content } of snapshot.blobs(entries.map((entry) => entry.oid))) {
      const entry = entries[found.length]?.path ?? '';
      found.push(mentionedMedia(site, entry, content.toString('utf8'), (file) => oids.has(file)));
    }
    const files = (paths: string[]) => paths.map((path) => ({ path, oid: oids.get(path) ?? '' }));
    const facts = await mediaFacts(git, snapshot, files([...new Set(found.flat())]));
    return found.map((paths) => files(paths).map((file) => mediaRecord(site, file, facts, base)));
  },
});

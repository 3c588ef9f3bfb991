import type { ProjectContext } from '../../operation.ts';
import type { Snapshot } from '../../ports/git-records.ts';
import { findEntry } from '../content/collection-index.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { referenceIds } from '../schema/reference-ids.ts';
import { type Relation, relatesTo, relationsIn } from './relations.ts';

/** A place in an entry that points to another entry. */
export interface Reference extends Relation {
  /** The entry that points. */
  slug: string;
  path: string;
}

/** An entry by all the texts that name it, whether it is still there or not. */
interface Named {
  collection: string;
  ids: ReadonlySet<string>;
}

export function namedIn(site: SiteIndex, { collection, slug }: { collection: string; slug: string }): Named {
  const index = site.collections.get(collection);
  const entry = index && findEntry(index, slug);
  return { collection, ids: new Set(index && entry ? referenceIds(index.schema, entry) : []) };
}

/** Entries whose schema-declared relations point to one entry; only collections that can point there are read. */
export async function referencesTo(
  { services, git }: Pick<ProjectContext, 'services' | 'git'>,
  { tree, site }: { tree: Snapshot; site: SiteIndex },
  target: Named,
): Promise<Reference[]> {
  const found: Reference[] = [];
  for (const { schema, entries } of site.collections.values()) {
    if (target.ids.size === 0 || !relatesTo(schema.fields, target.collection)) continue;
    const facts = await services.content.facts(git, tree, entries);
    for (const [at, entry] of entries.entries()) {
      for (const relation of relationsIn(schema.fields, facts[at]?.frontmatter)) {
        if (relation.collection !== target.collection || !target.ids.has(relation.id)) continue;
        found.push({ ...relation, collection: schema.collection, slug: entry.slug, path: entry.path });
      }
    }
  }
  return found;
}

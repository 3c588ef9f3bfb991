import { DomainError, type FieldError } from '../../../kernel/errors.ts';
import { Pace } from '../../../lib/concurrency.ts';
import { shortened } from '../../../lib/text.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import type { CollectionIndex, IndexedEntry } from '../content/collection-index.ts';
import type { SiteIndex } from '../content/site-index.ts';
import type { Frontmatter } from '../frontmatter/values.ts';
import { hasMedia, lookUpMedia } from '../media/media-values.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import { labelAt } from '../schema/json-schema.ts';
import type { SchemaField, Warning } from '../schema/schema.schema.ts';
import { validateEntry } from '../schema/validate.ts';
import type { StudioContext } from '../studio.ts';
import { namesEntries, referenceIds } from './references.ts';

/** Entries by every text that names them, made once per index. */
const named = new WeakMap<CollectionIndex, ReadonlyMap<string, IndexedEntry>>();

function namesOf(index: CollectionIndex): ReadonlyMap<string, IndexedEntry> {
  const known = named.get(index);
  if (known) return known;
  const pairs = index.entries.flatMap((entry) => referenceIds(index.schema, entry).map((id) => [id, entry] as const));
  // Where two entries could be meant the first one is.
  const made = new Map(pairs.reverse());
  named.set(index, made);
  return made;
}

/** The entry a reference means; a slug is read as one before any other form of a name. */
export function entryNamed(index: CollectionIndex, id: string): IndexedEntry | undefined {
  return index.find(id) ?? namesOf(index).get(id);
}

const asWarning = (path: string, collection: string, { code, field, message }: FieldError): Warning => ({
  code,
  message: `${field.slice(1).replaceAll('/', '.')}: ${message}`,
  path,
  collection,
});

/** Whether an entry of a collection exists under a text that names it; where that cannot be known, yes. */
export const referencesIn = (site: SiteIndex) => (collection: string, id: string) => {
  const target = site.collections.get(collection);
  if (!target || !namesEntries(target.schema)) return true;
  return entryNamed(target, id) !== undefined;
};

/** Frontmatter as a write leaves it, and what it replaces. */
interface Judged {
  /** Path of the entry, and where it came from when it is renamed. */
  paths: readonly [string, ...string[]];
  wanted: Frontmatter;
  stored: Frontmatter | null;
}

/** What the schema's image and file fields lead to, as a lookup for `faultsOf` and `validateEntry`. Two passes, as a tree answers later than a schema asks: the first one collects. */
export async function filesIn(
  at: { tree: Snapshot; site: SiteIndex },
  schema: CollectionSchema,
  { paths, wanted, stored }: Judged,
): Promise<{ files?: (value: string) => boolean }> {
  if (!hasMedia(schema.fields)) return {};
  const values = new Set<string>();
  const files = (value: string) => Boolean(values.add(value));
  for (const frontmatter of [wanted, stored ?? {}]) await validateEntry(schema, frontmatter, { files });
  return { files: await lookUpMedia(at, schema, paths, [...values]) };
}

/** Names a fault; that of a file by the value, wherever in the entry it stands. */
const faultKey = ({ field, code, message }: FieldError) => (code === 'file' ? message : `${field} ${code}`);

/**
 * Holds the frontmatter a write wants against the schema. A fault the write causes is an error; one that stood there before, or that only an
 * inferred schema sees, is a warning.
 * @returns errors with `field` a JSON Pointer into an input that has `frontmatter`
 */
export async function judgeWrite(
  at: { tree: Snapshot; site: SiteIndex },
  { schema }: Pick<CollectionIndex, 'schema'>,
  judged: Judged,
): Promise<{ errors: FieldError[]; warnings: Warning[] }> {
  const { paths, wanted, stored } = judged;
  const lookups = { references: referencesIn(at.site), ...(await filesIn(at, schema, judged)) };
  const { errors, warnings } = await validateEntry(schema, wanted, lookups);
  const before = errors.length > 0 && stored ? (await validateEntry(schema, stored, lookups)).errors : [];
  const known = new Set(before.map(faultKey));
  const caused = errors.filter((error) => !known.has(faultKey(error)));
  const tolerated = [...errors.filter((error) => !caused.includes(error)), ...warnings];
  return {
    errors: caused.map((error) => ({ ...error, field: `/frontmatter${error.field}` })),
    warnings: tolerated.map((error) => asWarning(paths[0], schema.collection, error)),
  };
}

/**
 * The same for a write that is under way.
 * @throws DomainError `validation_failed` with a fault per field.
 */
export async function validateWrite(...of: Parameters<typeof judgeWrite>): Promise<Warning[]> {
  const { errors, warnings } = await judgeWrite(...of);
  const [first] = errors;
  if (!first) return warnings;
  throw new DomainError('validation_failed', `${first.field.slice(1).replaceAll('/', '.')}: ${first.message}`, {
    details: { errors },
  });
}

/** Characters of a fault's label, which is made of those of all fields around it. */
const longestLabel = 300;

/** What is wrong with a stored entry: why it cannot be read, or where it breaks a declared schema. */
export async function faultsOf(
  site: SiteIndex,
  schema: CollectionSchema,
  { frontmatter, error }: { frontmatter: Frontmatter | null; error?: Pick<FieldError, 'code' | 'message'> | undefined },
  lookups: { files?: (value: string) => boolean } = {},
): Promise<(FieldError & { label: string })[]> {
  if (frontmatter === null) return error ? [{ field: '/frontmatter', label: '', ...error }] : [];
  if (schema.inferred) return [];
  const { errors } = await validateEntry(schema, frontmatter, { references: referencesIn(site), ...lookups });
  return errors.map((fault) => ({
    ...fault,
    field: `/frontmatter${fault.field}`,
    label: shortened(labelAt(schema, fault.field), longestLabel),
  }));
}

const hasRelation = (fields: readonly SchemaField[]): boolean =>
  fields.some(
    ({ relation, fields: own = [], variants = [] }) =>
      relation !== undefined || hasRelation(own) || hasRelation(variants),
  );

/** Entries of a collection that cannot be read or break a declared schema; found once per tree. */
export async function invalidEntries(
  { studio, git }: Pick<StudioContext, 'studio' | 'git'>,
  { snapshot, site }: { snapshot: Snapshot; site: SiteIndex },
  { schema, entries }: CollectionIndex,
): Promise<readonly IndexedEntry[]> {
  // A relation is broken by what happens in other collections too.
  const tree = hasRelation(schema.fields) ? snapshot.tree : await snapshot.treeOid(schema.path);
  const list = JSON.stringify([site.schemaKey, 'invalid', schema.collection]);
  return studio.content.listOrder(git, { list, tree, entries }, async () => {
    const found = [];
    const pace = new Pace();
    let at = 0;
    for await (const facts of studio.content.eachListed(git, snapshot, entries)) {
      if (pace.isDue) await pace.yield();
      const entry = entries[at++];
      if (entry && (await faultsOf(site, schema, facts)).length > 0) found.push(entry);
    }
    return found;
  });
}

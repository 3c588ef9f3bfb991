/**
 * What would be wrong with the site once a head is merged into a base, and is not wrong with the base: changed entries are held against their schemas
 * as the head has them, and where files or addresses have gone, the entries that name them are found. Faults that the base has too are left out, so
 * what is known to be broken stands in no one's way. Both commits decide, with the settings of the project: a result is kept as long as there is room.
 */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { DomainError, type FieldError } from '../../../kernel/errors.ts';
import { yieldLoop } from '../../../lib/concurrency.ts';
import { counted } from '../../../lib/text.ts';
import type { ChangedFile, Oid, Snapshot } from '../../../ports/git-records.ts';
import { entryAt, schemaAt } from '../content/collection-index.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { namesEntries, referenceIds, referencesTo } from '../entries/references.ts';
import { titlesOf } from '../entries/saved-entry.ts';
import { entryNamed, faultsOf, filesIn } from '../entries/validate.ts';
import { mediaRootOf } from '../media/media-facts.ts';
import { mediaReferences } from '../media/media-references.ts';
import { entryRoutes } from '../routes/entry-routes.ts';
import { labelAt } from '../schema/json-schema.ts';
import type { StudioContext } from '../studio.ts';

const publishCheck = z
  .object({
    code: z
      .string()
      .describe(
        'Of a field: as in `details.errors[]` of a refused save; `reference`: no such entry; `link`: leads to what is deleted',
      ),
    level: z
      .enum(['error', 'warning'])
      .meta({ id: 'PublishCheckLevel' })
      .describe('warning: found in text, and may mean something else'),
    entry: z
      .object({ collection: z.string(), slug: z.string(), path: z.string(), title: z.string() })
      .meta({ id: 'PublishCheckEntry' })
      .describe('The entry at fault, as the head has it'),
    field: z.string().nullable().describe('JSON Pointer such as `/frontmatter/title`; null: somewhere in the file'),
    label: z.string().nullable().describe('What the schema calls the field, as `Author › Name`'),
    message: z.string(),
  })
  .meta({ id: 'PublishCheck' });
type PublishCheck = z.output<typeof publishCheck>;

/** A fault before it has the names that people know its entry and field by. */
type FoundFault = Omit<PublishCheck, 'label' | 'entry'> & { entry: Omit<PublishCheck['entry'], 'title'> };

export const publishChecks = z
  .object({
    base_commit: z.string(),
    head_commit: z.string(),
    errors: z.int32().describe('How many checks are errors'),
    warnings: z.int32(),
    checks: z.array(publishCheck).describe('Errors first, then by path'),
    truncated: z.boolean().describe('More files have changed or gone, or more faults are found, than are shown'),
  })
  .meta({ id: 'PublishChecks' });
type PublishChecks = z.output<typeof publishChecks>;

/** Changed files that are looked at, files whose references are looked for, and faults that are shown. */
const most = { changed: 1000, gone: 100, checks: 200 };

type Context = Pick<StudioContext, 'git' | 'studio' | 'project'>;

/** A site at one of the two commits. */
interface Side {
  tree: Snapshot;
  site: SiteIndex;
}

async function sideAt({ git, studio }: Context, commit: Oid): Promise<Side> {
  const tree = await git.snapshot(commit);
  return { tree, site: await studio.content.site(git, tree) };
}

const isRegular = (mode: string | undefined) => mode === '100644' || mode === '100755';

/** The frontmatter of the file at a path with all that is wrong with it; null: there is no entry. */
async function entryFaults({ git, studio }: Context, side: Side, path: string): Promise<FieldError[] | null> {
  const schema = schemaAt(side.site, path);
  const { entry } = await side.tree.lookup(path);
  if (!schema || !entry || !isRegular(entry.mode)) return null;
  const [facts] = await studio.content.listedFacts(git, side.tree, [{ path, oid: entry.oid }]);
  if (!facts) return null;
  const wanted = facts.frontmatter;
  const lookups =
    wanted && !schema.inferred ? await filesIn(side, schema, { paths: [path], wanted, stored: null }) : {};
  return faultsOf(side.site, schema, facts, lookups);
}

/** Names a fault; one that says which value is at fault is the same wherever in the entry the value stands. */
const keyOf = ({ code, field, message }: FieldError) =>
  code === 'reference' || code === 'file' ? `${code} ${message}` : `${code} ${field}`;

const named = ({ site }: Side, path: string): FoundFault['entry'] | null => {
  const place = entryAt(site, path);
  return place && { ...place, path };
};

/** Faults of changed entries that the base lacks. */
async function changedEntries(context: Context, base: Side, head: Side, files: readonly ChangedFile[]) {
  const found: FoundFault[] = [];
  for (const { path, previous_path, head: side } of files) {
    if (!side) continue;
    await yieldLoop();
    const faults = await entryFaults(context, head, path);
    const entry = faults?.length ? named(head, path) : null;
    if (!faults || !entry) continue;
    const before = (await entryFaults(context, base, previous_path ?? path)) ?? [];
    const known = new Set(before.map(keyOf));
    for (const fault of faults.filter((each) => !known.has(keyOf(each))))
      found.push({ code: fault.code, level: 'error', entry, field: fault.field, message: fault.message });
  }
  return found;
}

/** A path that has gone, and where its file is now. */
interface Gone {
  path: string;
  movedTo: string | null;
}

const goneOf = (files: readonly ChangedFile[]): Gone[] =>
  files.flatMap(({ path, previous_path, status }): Gone[] => {
    if (status === 'removed') return [{ path, movedTo: null }];
    return previous_path === null ? [] : [{ path: previous_path, movedTo: path }];
  });

/** Relations of any entry to entries that the head lacks and the base has. */
async function brokenReferences({ git, studio }: Context, base: Side, head: Side, gone: readonly Gone[]) {
  const targets = gone.flatMap(({ path }) => {
    const schema = schemaAt(base.site, path);
    const entry = schema && base.site.collections.get(schema.collection)?.at(path);
    const index = schema && head.site.collections.get(schema.collection);
    if (!entry || (index && !namesEntries(index.schema))) return [];
    const ids = referenceIds(schema, entry).filter((id) => !index || entryNamed(index, id) === undefined);
    return ids.map((id) => ({ collection: schema.collection, id }));
  });
  const byCollection = [...Map.groupBy(targets, ({ collection }) => collection)];
  const wanted = byCollection.map(([collection, of]) => ({ collection, ids: new Set(of.map(({ id }) => id)) }));
  const references = await referencesTo({ git, studio }, head, wanted);
  return references.map(
    ({ collection, slug, path, field, id }): FoundFault => ({
      code: 'reference',
      level: 'error',
      entry: { collection, slug, path },
      field: `/frontmatter${field}`,
      message: `"${id}" is an entry that is gone`,
    }),
  );
}

/** Addresses of entries at one side, by path. */
async function addressesAt(
  context: Context,
  { tree, site }: Side,
  paths: readonly string[],
): Promise<Map<string, string>> {
  const routes = await entryRoutes(context, tree);
  const places = paths.flatMap((path) => {
    const collection = schemaAt(site, path)?.collection;
    const entry = collection === undefined ? undefined : site.collections.get(collection)?.at(path);
    return entry && collection !== undefined ? [{ ...entry, collection }] : [];
  });
  const facts = routes.key === '' ? [] : await context.studio.content.listedFacts(context.git, tree, places);
  const urls = facts.map(({ frontmatter }, at) => {
    const place = places[at];
    return [place?.path, place && routes.urlOf(place.collection, place, frontmatter)] as const;
  });
  return new Map(urls.flatMap(([path, url]) => (path !== undefined && url !== undefined ? [[path, url]] : [])));
}

/** Texts that name media or pages which the base has and the head lacks: by their files, or by the addresses their pages had. */
async function brokenLinks(context: Context, base: Side, head: Side, files: readonly ChangedFile[]) {
  const paths = files.filter((file) => file.head !== null).map(({ path }) => path);
  const before = await addressesAt(
    context,
    base,
    files.map(({ path, previous_path }) => previous_path ?? path),
  );
  const now = new Set((await addressesAt(context, head, paths)).values());
  // The home page is named by every path.
  const pages = new Map([...before].filter(([, url]) => !now.has(url) && url.length > 1));
  const moved = new Map(goneOf(files).map(({ path, movedTo }) => [path, movedTo]));
  const isPublished = (path: string) =>
    mediaRootOf(base.site, path) !== null || schemaAt(base.site, path) !== undefined;
  const targets = [...new Set([...moved.keys(), ...pages.keys()])].filter(isPublished);
  const looked = targets.slice(0, most.gone);
  const { base: below } = await entryRoutes(context, head.tree);
  const found = looked.length > 0 ? await mediaReferences({ ...head, base: below }, looked, pages) : [];
  const checks = looked.flatMap((target, at) => {
    const what = pages.has(target) ? `${pages.get(target)} (${target})` : target;
    // Where an entry keeps its former address, as a redirect, it names it itself.
    const others = (found[at] ?? []).filter(({ path }) => path !== target && path !== moved.get(target));
    return others.map(
      (entry): FoundFault => ({
        code: 'link',
        level: 'warning',
        entry,
        field: null,
        message: `names ${what}, which is gone`,
      }),
    );
  });
  return { checks, isCut: looked.length < targets.length };
}

const placeOf = ({ entry, field, code, message }: FoundFault) => `${entry.path} ${code} ${field ?? message}`;

const rank = (a: FoundFault, b: FoundFault) =>
  Number(a.level === 'warning') - Number(b.level === 'warning') || (placeOf(a) < placeOf(b) ? -1 : 1);

/** Faults with the titles of their entries and the labels of their fields. */
async function withNames(context: Context, head: Side, faults: readonly FoundFault[]): Promise<PublishCheck[]> {
  const titles = await titlesOf(
    context,
    head,
    faults.map(({ entry }) => entry),
  );
  return faults.map((fault, at) => {
    const { entry, field } = fault;
    const pointer = field?.startsWith('/frontmatter/') ? field.slice('/frontmatter'.length) : null;
    const label = pointer === null ? null : labelAt(head.site.collections.get(entry.collection)?.schema, pointer);
    return { ...fault, label, entry: { ...entry, title: titles[at] ?? entry.slug } };
  });
}

/** Characters of checks. A name in a schema may be a quarter of a megabyte. */
export const weightOf = ({ checks }: PublishChecks): number =>
  checks.reduce(
    (sum, { entry, field, label, message }) =>
      sum + [entry.path, entry.slug, entry.title, field, label, message].join('').length,
    100,
  );

const kept = new LRUCache<string, PublishChecks>({ maxSize: 16 * 1024 * 1024, sizeCalculation: weightOf });

/**
 * Checks what merging a head into a base would publish.
 * @throws DomainError `no_common_ancestor`
 */
export async function checksBetween(context: Context, base: Oid, head: Oid): Promise<PublishChecks> {
  const { git, project } = context;
  const { content_root, routes } = project.settings;
  const key = JSON.stringify([git.id, content_root, routes, base, head]);
  const known = kept.get(key);
  if (known) return known;
  const ancestor = await git.mergeBase(base, head);
  if (ancestor === null) throw new DomainError('no_common_ancestor', 'head: has no commit in common with the base');
  const { files, total } = await git.diff(ancestor, head, { skip: 0, limit: most.changed });
  const [before, after] = [await sideAt(context, base), await sideAt(context, head)];
  const gone = goneOf(files);
  const links = await brokenLinks(context, before, after, files);
  const found = [
    ...(await changedEntries(context, before, after, files)),
    ...(await brokenReferences(context, before, after, gone)),
    ...links.checks,
  ];
  const distinct = [...new Map(found.toReversed().map((check) => [placeOf(check), check])).values()].sort(rank);
  const errors = distinct.filter(({ level }) => level === 'error').length;
  const checks = {
    base_commit: base,
    head_commit: head,
    errors,
    warnings: distinct.length - errors,
    checks: await withNames(context, after, distinct.slice(0, most.checks)),
    truncated: total > files.length || links.isCut || distinct.length > most.checks,
  };
  kept.set(key, checks);
  return checks;
}

/**
 * Keeps errors from the default branch of a project that wants that. Other branches are not what is published.
 * @throws DomainError `checks_failed` with `details.checks`
 */
export async function checkPublishable(
  context: Context,
  base: string,
  { current, incoming }: { current: Oid; incoming: Oid },
): Promise<void> {
  const { git, project } = context;
  if (project.settings.publish_checks !== 'block' || base !== (await git.defaultBranch())) return;
  if ((await git.mergeBase(current, incoming)) === null) return;
  const { errors, checks } = await checksBetween(context, current, incoming);
  const [first] = checks;
  if (errors === 0 || !first) return;
  const { entry, message } = first;
  throw new DomainError(
    'checks_failed',
    `${counted(errors, 'error keeps', 'errors keep')} this from being published: ${entry.path}: ${message}`,
    { details: { checks } },
  );
}

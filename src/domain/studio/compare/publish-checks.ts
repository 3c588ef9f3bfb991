/**
 * What would be wrong with the site once a head is merged into a base, and is not wrong with the base: changed entries are held against their schemas
 * as the head has them, and where files or addresses have gone, the entries that name them are found. Faults that the base has too are left out, so
 * what is known to be broken stands in no one's way.
 *
 * What is shown before a merge compares the two commits, as far as an answer has room; it is kept, for they decide it with the settings of the project.
 * What may keep a merge from its branch is the merge itself, in all that it changes there: what settles a conflict is in neither commit, and two that
 * are sound may be broken together.
 */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { DomainError, type FieldError } from '../../../kernel/errors.ts';
import { forEachYielding, Pace } from '../../../lib/concurrency.ts';
import { counted } from '../../../lib/text.ts';
import type { ChangedFile, FileChange, Oid, Snapshot } from '../../../ports/git-records.ts';
import { entryAt, schemaAt } from '../content/collection-index.ts';
import type { EntryFacts } from '../content/entry-facts.ts';
import { changeSite, changesSchemas, placedBy, type SiteIndex } from '../content/site-index.ts';
import { namesEntries, referenceIds, referencesTo } from '../entries/references.ts';
import { titlesOf } from '../entries/saved-entry.ts';
import { entryNamed, faultsOf, filesIn } from '../entries/validate.ts';
import { mediaRootOf } from '../media/media-facts.ts';
import { mediaReferences } from '../media/media-references.ts';
import { entryRoutes } from '../routes/entry-routes.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
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

/** Changed files whose faults are shown, files whose references are looked for, faults that are shown, and changed files of a merge that is checked. */
const most = { changed: 1000, gone: 100, checks: 200, checked: 50_000 };

/** Changed files that are read at a time. */
const atOnce = 100;

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

/** All that is wrong with an entry of these facts. */
async function faultsOfFacts(side: Side, schema: CollectionSchema, path: string, facts: EntryFacts) {
  const wanted = facts.frontmatter;
  const lookups =
    wanted && !schema.inferred ? await filesIn(side, schema, { paths: [path], wanted, stored: null }) : {};
  return faultsOf(side.site, schema, facts, lookups);
}

/** All that is wrong with the entry at a path; nothing where no entry is. */
async function faultsAt({ git, studio }: Context, side: Side, path: string): Promise<FieldError[]> {
  const schema = schemaAt(side.site, path);
  const { entry } = await side.tree.lookup(path);
  if (!schema || !entry || !isRegular(entry.mode)) return [];
  const [facts] = await studio.content.listedFacts(git, side.tree, [{ path, oid: entry.oid }]);
  return facts ? faultsOfFacts(side, schema, path, facts) : [];
}

/** Names a fault; one that says which value is at fault is the same wherever in the entry the value stands. */
const keyOf = ({ code, field, message }: FieldError) =>
  code === 'reference' || code === 'file' ? `${code} ${message}` : `${code} ${field}`;

const named = ({ site }: Side, path: string): FoundFault['entry'] | null => {
  const place = entryAt(site, path);
  return place && { ...place, path };
};

type Changed = Pick<ChangedFile, 'path' | 'head'>;

/** What a head changes, and the sides whose faults are tolerated in it: its base, and others whose changes are their own matter. */
interface Difference {
  before: readonly [base: Side, ...others: Side[]];
  after: Side;
  files: readonly Changed[];
  /** Where the base had a file. */
  formerPath(file: Changed): Promise<string>;
  /** Aborts when the work is given up. */
  signal?: AbortSignal;
}

/** Faults of changed entries that no side before has, one entry after the other. */
async function* changedEntries(
  context: Context,
  { before, after, files, formerPath, signal }: Difference,
): AsyncGenerator<FoundFault> {
  const { git, studio } = context;
  const pace = new Pace();
  for (let from = 0; from < files.length; from += atOnce) {
    signal?.throwIfAborted();
    const places = files.slice(from, from + atOnce).flatMap((file) => {
      const schema = file.head && isRegular(file.head.mode) ? schemaAt(after.site, file.path) : undefined;
      return file.head && schema ? [{ file, schema, path: file.path, oid: file.head.oid }] : [];
    });
    const facts = await studio.content.listedFacts(git, after.tree, places);
    for (const [at, { file, schema, path }] of places.entries()) {
      if (pace.isDue) await pace.yield();
      const read = facts[at];
      const faults = read ? await faultsOfFacts(after, schema, path, read) : [];
      const entry = faults.length > 0 ? named(after, path) : null;
      if (!entry) continue;
      const known = new Set<string>();
      for (const former of new Set([path, await formerPath(file)]))
        for (const side of before) for (const fault of await faultsAt(context, side, former)) known.add(keyOf(fault));
      for (const fault of faults)
        if (!known.has(keyOf(fault)))
          yield { code: fault.code, level: 'error', entry, field: fault.field, message: fault.message };
    }
  }
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

/** The first relations of any entry to entries that the head lacks and all sides before have. */
async function brokenReferences(
  { git, studio }: Context,
  { before, after }: Pick<Difference, 'before' | 'after'>,
  gone: readonly string[],
  limit = Number.POSITIVE_INFINITY,
): Promise<FoundFault[]> {
  const [base] = before;
  const wanted = new Map<string, Set<string>>();
  await forEachYielding(gone, (path) => {
    const schema = schemaAt(base.site, path);
    if (!schema) return;
    const { collection } = schema;
    const entries = before.map(({ site }) => site.collections.get(collection)?.at(path));
    const [entry] = entries;
    const index = after.site.collections.get(collection);
    if (!entry || entries.includes(undefined) || (index && !namesEntries(index.schema))) return;
    const ids = wanted.get(collection) ?? new Set();
    wanted.set(collection, ids);
    for (const id of referenceIds(schema, entry)) if (!index || entryNamed(index, id) === undefined) ids.add(id);
  });
  let left = limit;
  const references = await referencesTo(
    { git, studio },
    after,
    [...wanted].map(([collection, ids]) => ({ collection, ids })),
    { counts: () => left-- > 0 },
  );
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
  const urls = new Map<string, string>();
  if (routes.key === '') return urls;
  let at = 0;
  for await (const { frontmatter } of context.studio.content.eachListed(context.git, tree, places)) {
    const place = places[at++];
    const url = place && routes.urlOf(place.collection, place, frontmatter);
    if (url !== undefined) urls.set(place?.path ?? '', url);
  }
  return urls;
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
  const moved = new Map(files.map(({ path, previous_path }) => [path, previous_path ?? path]));
  const formerPath = async ({ path }: Changed) => moved.get(path) ?? path;
  const difference: Difference = { before: [before], after, files, formerPath };
  const gone = goneOf(files).map(({ path }) => path);
  const links = await brokenLinks(context, before, after, files);
  const found: FoundFault[] = [];
  for await (const fault of changedEntries(context, difference)) found.push(fault);
  found.push(...(await brokenReferences(context, difference, gone)), ...links.checks);
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

/** Where a merge has renamed files from, found when one of them has a fault. */
function formerPaths(
  { git }: Pick<Context, 'git'>,
  { current, incoming }: { current: Oid; incoming: Oid },
  changes: readonly FileChange[],
): Difference['formerPath'] {
  const gone = new Map(changes.flatMap(({ path, before, after }) => (before && !after ? [[before.oid, path]] : [])));
  let similar: Promise<Map<string, string | null>> | undefined;
  const findSimilar = async () => {
    const ancestor = await git.mergeBase(current, incoming);
    const page = { skip: 0, limit: most.changed };
    const files = ancestor === null ? [] : (await git.diff(ancestor, incoming, page)).files;
    return new Map(files.map(({ path, previous_path }) => [path, previous_path]));
  };
  return async ({ path, head }) => {
    if (gone.size === 0) return path;
    const same = head && gone.get(head.oid);
    if (same) return same;
    similar ??= findSimilar();
    return (await similar).get(path) ?? path;
  };
}

/** What a merge makes of its base. */
interface MergeToCheck {
  /** Short name of the branch that is merged into. */
  base: string;
  current: Oid;
  incoming: Oid;
  result(): Promise<Snapshot>;
  /** What the head brings is its own matter: faults that it has too are left out. */
  toleratesHead?: boolean;
  /** Aborts when the merge is given up. */
  signal: AbortSignal;
}

/**
 * What decides whether a merge may come to a branch, beside its two sides and what settles their conflicts; null: any may. Only the default branch is
 * what is published.
 */
export async function publishRules({ git, project }: Context, base: string): Promise<string | null> {
  const { settings } = project;
  const isChecked = settings.publish_checks === 'block' && base === (await git.defaultBranch());
  return isChecked ? JSON.stringify(settings) : null;
}

/**
 * Keeps errors from a branch that has rules for publishing: all that a merge changes there is held against what it comes to, until there are as many
 * errors as are shown.
 * @throws DomainError `checks_failed` with `details.checks`, `too_large` for more changed files than are checked
 */
export async function checkPublishable(
  context: Context,
  { base, current, incoming, result, toleratesHead = false, signal }: MergeToCheck,
): Promise<void> {
  const { git, studio } = context;
  const before = await sideAt(context, current);
  const tree = await result();
  const changes = await tree.changesSince(before.tree.tree, most.checked);
  if (changes === null)
    throw new DomainError(
      'too_large',
      `head: changes more than ${most.checked} files of ${base}, which is more than publish_checks can check at once; ` +
        'merge it in parts, or set publish_checks to warn for this merge',
    );
  // Of a tree that may never be stored: what is read of it anew holds for that tree wherever it comes up again.
  const site = (await changesSchemas(before.site, changes))
    ? await studio.content.site(git, tree)
    : await changeSite(before.site, placedBy(changes));
  const difference: Difference = {
    before: toleratesHead ? [before, await sideAt(context, incoming)] : [before],
    after: { tree, site },
    files: changes.map(({ path, after }) => ({ path, head: after })),
    formerPath: formerPaths(context, { current, incoming }, changes),
    signal,
  };
  const gone = changes.flatMap(({ path, after }) => (after ? [] : [path]));
  const found = new Map<string, FoundFault>();
  const errors = async function* () {
    yield* changedEntries(context, difference);
    yield* await brokenReferences(context, difference, gone, most.checks);
  };
  for await (const fault of errors()) {
    const place = placeOf(fault);
    if (!found.has(place)) found.set(place, fault);
    if (found.size === most.checks) break;
  }
  const checks = await withNames(context, difference.after, [...found.values()].sort(rank));
  const [first] = checks;
  if (!first) return;
  const counts = counted(found.size, 'error keeps', 'errors keep');
  const all = found.size === most.checks ? `At least ${counts}` : counts;
  const message = `${all} this from being published: ${first.entry.path}: ${first.message}`;
  throw new DomainError('checks_failed', message, { details: { checks } });
}

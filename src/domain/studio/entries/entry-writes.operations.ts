import { z } from 'zod';
import { DomainError, fieldError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import type { Commit, CommitPlan, Snapshot } from '../../ports/git.ts';
import { type CollectionIndex, entryIn, type IndexedEntry } from '../content/site-index.ts';
import { createFile } from '../frontmatter/create-file.ts';
import { editFile } from '../frontmatter/edit-file.ts';
import { applyMergePatch } from '../frontmatter/merge-patch.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import type { Frontmatter } from '../frontmatter/types.ts';
import { checkPath, checkStoredPath } from '../path-rules.ts';
import { writableBranch } from '../repository/refs.ts';
import { collectionNamePattern, type Warning } from '../schema/schema.schema.ts';
import { pathForSlug } from '../slug.ts';
import { viewOf } from '../view.ts';
import { deletedEntry, entryChange, entryDraft, savedEntry, writeInput } from './entries.schema.ts';
import { defaultsOf, formatOf, isDateField } from './entry-format.ts';
import { entryOf } from './entry-record.ts';
import { referencesTo } from './references.ts';
import { renameEntry } from './rename-entry.ts';
import { validateWrite } from './validate.ts';
import { authorOf, checkContentPath, checkFree, checkVersion, messageOf } from './write-entry.ts';

const maxEntryBytes = 5 * 1024 * 1024;

/** What a save leaves behind: enough to answer without reading the repository again. */
interface Saved {
  index: CollectionIndex;
  schemaKey: string;
  place: IndexedEntry;
  bytes: Buffer;
  warnings: Warning[];
  renamedFrom?: string;
  references?: string[];
}

function checkSize(bytes: Buffer): Buffer {
  if (bytes.length > maxEntryBytes)
    throw new DomainError(
      'too_large',
      `body: the entry would have ${bytes.length} bytes; at most ${maxEntryBytes} are allowed`,
    );
  return bytes;
}

/** The record of a saved entry; `sha` is read from the tree that was committed. */
async function savedRecord(
  snapshot: Snapshot,
  commit: Commit | null,
  saved: Saved,
  tag: (etag: string) => void,
): Promise<z.output<typeof savedEntry>> {
  const { entry } = await snapshot.lookup(saved.place.path);
  const place = { ...saved.place, oid: entry?.oid ?? saved.place.oid };
  tag(`"${place.oid}.${viewOf([saved.schemaKey, place.slug, undefined])}"`);
  return {
    ...entryOf(saved.index, place, saved.bytes, { warnings: saved.warnings }),
    commit,
    unchanged: commit === null,
    merged: false,
    ...(saved.renamedFrom !== undefined && { renamed_from: saved.renamedFrom }),
    ...(saved.references && { references: saved.references }),
  };
}

export const createEntry = projectOperation({
  name: 'studio.createEntry',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: { manage_studio: 'when it names another author' },
  summary: 'Create entry',
  input: entryDraft.extend({ collection: z.string() }),
  output: savedEntry,
  audit: ({ collection, slug }) => ({ type: 'entry', id: `${collection}/${slug}` }),
  async execute(context, { collection, ...draft }) {
    const { git, services, tag } = context;
    const slug = checkPath('slug', draft.slug);
    const author = authorOf(context, draft.author);
    const branch = await writableBranch(git, draft.branch);
    const written = await git.write<Saved>({
      branch,
      author,
      async plan(head): Promise<CommitPlan<Saved>> {
        const known = head.commit !== null || !collectionNamePattern.test(collection);
        const site = await (known ? services.content.site(git, head) : services.content.firstSite(collection, slug));
        const index = site.collection(collection);
        if (index.positions.has(slug)) throw fieldError('already_exists', 'slug', `${collection} has an entry ${slug}`);
        const path = pathForSlug(index.schema, slug, {
          ...(draft.format !== undefined && { format: draft.format }),
          ...(draft.path !== undefined && { path: checkPath('path', draft.path) }),
          ...(draft.locale !== undefined && { locale: draft.locale }),
        });
        checkContentPath(checkPath('slug', path));
        await checkFree(head, path, draft.path === undefined ? 'slug' : 'path');
        const frontmatter: Frontmatter = {
          ...(draft.apply_defaults && defaultsOf(index.schema)),
          ...draft.frontmatter,
        };
        const warnings = await validateWrite(site, index, path, frontmatter, null);
        const bytes = checkSize(
          createFile({
            ...formatOf(index.schema, path, draft.format),
            frontmatter,
            body: draft.body,
            fieldOrder: index.schema.fields.map((field) => field.name),
            isDate: isDateField(index.schema),
          }),
        );
        return {
          changes: [{ path, content: bytes }],
          message: messageOf(draft.message, `Create ${collection}/${slug}`),
          result: { index, schemaKey: site.schemaKey, place: { slug, path, oid: '' }, bytes, warnings },
        };
      },
    });
    const site = await services.content.site(git, written.snapshot);
    const index = site.collection(collection);
    const place = index.entries.find((item) => item.path === written.result.place.path) ?? written.result.place;
    return savedRecord(written.snapshot, written.commit, { ...written.result, index, place }, tag);
  },
});

type EntryChange = z.output<typeof entryChange>;

function newBytes(index: CollectionIndex, place: IndexedEntry, bytes: Buffer, change: EntryChange): Buffer {
  if (change.raw !== undefined) {
    if (change.frontmatter || change.body !== undefined || change.unset) {
      throw fieldError('invalid_request', 'raw', 'excludes frontmatter, body and unset');
    }
    const raw = Buffer.from(change.raw, 'utf8');
    const { error } = parseFile(raw, place.path);
    if (error) {
      const { message, line, column } = error;
      throw new DomainError('frontmatter_invalid', `raw: ${message} (line ${line}, column ${column})`, {
        details: { errors: [{ field: '/raw', code: 'frontmatter_invalid', message, line, column }] },
      });
    }
    return raw;
  }
  const editsMetadata = change.frontmatter !== undefined || change.unset !== undefined;
  const stored = parseFile(bytes, place.path);
  const current = stored.frontmatter ?? {};
  const frontmatter =
    change.mode === 'replace' && change.frontmatter
      ? applyMergePatch(change.frontmatter, {}, change.unset)
      : applyMergePatch(current, change.frontmatter ?? {}, change.unset);
  return editFile(
    bytes,
    place.path,
    { ...(editsMetadata && { frontmatter }), ...(change.body !== undefined && { body: change.body }) },
    { isDate: isDateField(index.schema) },
  ).bytes;
}

export const updateEntry = projectOperation({
  name: 'studio.updateEntry',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: { manage_studio: 'when it names another author' },
  summary: 'Update entry',
  input: entryChange.extend({ collection: z.string(), entry: z.string().describe('Slug of the entry') }),
  output: savedEntry,
  audit: ({ collection, entry }) => ({ type: 'entry', id: `${collection}/${entry}` }),
  async execute(context, { collection, entry, ...change }) {
    const { git, services, conditions, tag } = context;
    checkStoredPath('slug', entry);
    const slug = change.slug === undefined || change.slug === entry ? null : checkPath('slug', change.slug);
    const author = authorOf(context, change.author);
    const branch = await writableBranch(git, change.branch);
    const written = await git.write<Saved>({
      branch,
      author,
      async plan(head): Promise<CommitPlan<Saved>> {
        const site = await services.content.site(git, head);
        const index = site.collection(collection);
        const place = entryIn(index, entry);
        const { entry: stored, blocked } = await head.lookup(place.path);
        if (blocked || !stored)
          throw new DomainError('not_editable', `${place.path} cannot be written: it is behind a symlink`);
        checkVersion(stored, conditions.if_match, change.sha);
        const before = await head.blob(stored.oid);
        const bytes = checkSize(newBytes(index, place, before, change));
        const saved = { index, schemaKey: site.schemaKey, place, bytes, warnings: [] as Warning[] };
        if (bytes !== before && !bytes.equals(before)) {
          const wanted = parseFile(bytes, place.path).frontmatter ?? {};
          saved.warnings = await validateWrite(
            site,
            index,
            place.path,
            wanted,
            parseFile(before, place.path).frontmatter,
          );
        }
        if (slug === null) {
          const changes = bytes.equals(before) ? [] : [{ path: place.path, content: bytes }];
          return { changes, message: messageOf(change.message, `Update ${collection}/${entry}`), result: saved };
        }
        if (index.positions.has(slug)) throw fieldError('already_exists', 'slug', `${collection} has an entry ${slug}`);
        const renamed = await renameEntry(context, head, site, index, place, slug, bytes);
        return {
          changes: renamed.changes,
          message: messageOf(change.message, `Rename ${collection}/${entry} to ${slug}`),
          result: {
            ...saved,
            place: { ...place, slug, path: renamed.path },
            renamedFrom: entry,
            references: renamed.references,
          },
        };
      },
    });
    return savedRecord(written.snapshot, written.commit, written.result, tag);
  },
});

export const deleteEntry = projectOperation({
  name: 'studio.deleteEntry',
  kind: 'command',
  effect: 'external',
  permission: 'delete_studio',
  also: { manage_studio: 'when it names another author' },
  destructive: true,
  summary: 'Delete entry',
  input: z.object({
    collection: z.string(),
    entry: z.string().describe('Slug of the entry'),
    sha: z.string().optional().describe('Object id the file must have'),
    force: z.boolean().optional().describe('Delete although other entries require it'),
    ...writeInput,
  }),
  output: deletedEntry,
  audit: ({ collection, entry }) => ({ type: 'entry', id: `${collection}/${entry}` }),
  async execute(context, { collection, entry, sha, force, ...input }) {
    const { git, services, conditions } = context;
    checkStoredPath('slug', entry);
    const author = authorOf(context, input.author);
    const branch = await writableBranch(git, input.branch);
    const { commit, result } = await git.write<{ path: string }>({
      branch,
      author,
      async plan(head) {
        const site = await services.content.site(git, head);
        const place = entryIn(site.collection(collection), entry);
        const { entry: stored } = await head.lookup(place.path);
        if (stored) checkVersion(stored, conditions.if_match, sha);
        const references = force ? [] : await referencesTo(context, head, site, { collection, slug: entry });
        const required = references.filter((reference) => reference.required && reference.path !== place.path);
        if (required.length > 0) {
          throw new DomainError(
            'in_use',
            `${collection}/${entry} is required by ${required.length} entries; change them first, or use force`,
            {
              details: { references: required.slice(0, 100) },
            },
          );
        }
        return {
          changes: [{ path: place.path, content: null }],
          message: messageOf(input.message, `Delete ${collection}/${entry}`),
          result: { path: place.path },
        };
      },
    });
    if (!commit) throw new DomainError('not_found', `${collection} has no entry ${entry}`);
    return { deleted: true as const, path: result.path, commit };
  },
});

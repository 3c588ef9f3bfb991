/**
 * Saving: on the branch that is edited when it may be written to, otherwise in a draft that begins there. Always on the version that was read: what
 * others saved since is merged where it can be, and what cannot be is for the person to decide.
 */
import type { AnyVariables, TypedDocumentNode } from '@urql/core';
import {
  BringBackEntry,
  CreateEntry,
  type EditedBranchFragment,
  EntryAtVersion,
  type EntryContentFragment,
  type FileConflictFragment,
  RemoveEntry,
  type ResolutionInput,
  SaveEntry,
} from '../../documents.ts';
import { beginDraft, opensDraft } from '../../lib/changes.ts';
import { client } from '../../lib/client.ts';
import { send } from '../../lib/command.ts';
import { slugProblem } from '../../lib/entry-slug.ts';
import { type Fault, faultOf } from '../../lib/faults.ts';
import { i18n } from '../../lib/i18n.ts';
import type { Place } from '../../lib/place.ts';
import type { Editor } from './editor.ts';
import { contentOf } from './entry-query.ts';
import { type Content, changeOf, rebase, sameContent } from './rebase.ts';

export interface Target {
  place: Place;
  collection: string;
  /** null: the entry is made by the save. */
  slug: string | null;
  /** It was deleted; a save makes it again. */
  isGone: boolean;
  /** The branch that is edited; null when it is gone. */
  branch: EditedBranchFragment | null;
  /** Name for a draft that the save begins. */
  title: string;
}

/** A clash with what is stored now. `sent` is what it was found with, and what has to be sent with its resolution. */
export interface Clash {
  conflict: FileConflictFragment;
  sent: Content;
}

export type Saved =
  | { kind: 'unchanged' }
  | {
      kind: 'saved';
      slug: string /** Branch of the draft that the save began. */;
      draft: string | null;
      wasMerged: boolean;
    }
  | { kind: 'clash'; clash: Clash }
  | { kind: 'fault'; fault: Fault };

const pointerIn = /^(?:\/actions\/\d+)?\/frontmatter(?=\/|$)/;

/** What the server says of fields, by their pointers in the entry. */
function fieldFaults(fault: Fault): Map<string, string> {
  // The slug of an entry that is to be made is no field of it, but stands with them.
  const found = [...fault.fields].filter(([field]) => pointerIn.test(field) || /^(\/actions\/\d+)?\/slug$/.test(field));
  return new Map(
    found.map(([field, message]) => [field.replace(pointerIn, '').replace(/^\/actions\/\d+/, ''), message]),
  );
}

/** A text no other call has; `crypto.randomUUID` is not there on plain http. */
const newKey = () => [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join('');

let lastKey: { content: string; key: string } | null = null;
/** The same for the same content, so that a save whose answer was lost is not done twice. */
function keyFor(content: object): string {
  const text = JSON.stringify(content);
  if (lastKey?.content !== text) lastKey = { content: text, key: newKey() };
  return lastKey.key;
}

/** The entry as a branch has it now. @throws Fault */
export async function readEntry(
  { organization, project }: Place,
  at: { collection: string; slug: string; branch?: string | null; ref?: string },
  isRaw: boolean,
): Promise<(EntryContentFragment & { raw?: string | null }) | null> {
  const { collection, slug, branch = null, ref = null } = at;
  const variables = { organization, project, collection, slug, branch: ref === null ? branch : null, ref, isRaw };
  const { data, error } = await client.query(EntryAtVersion, variables, { requestPolicy: 'network-only' }).toPromise();
  const entry = data?.project?.studio?.entry;
  if (!entry && error) throw faultOf(error);
  return entry ?? null;
}

/** Text differences come with the editor of text, which a page without one does not load. */
export const loadDiffer = async () => (await import('@codemirror/merge')).diff;

/** Takes what is stored now as the version that is edited, with all that was typed since it was sent. */
async function settle(editor: Editor, sent: Content, sha: string, stored: Content): Promise<boolean> {
  const current = editor.content();
  // A file that was repaired: from now on it is edited by its fields.
  if (sent.raw !== null && stored.raw === null && sameContent(sent, current)) {
    await editor.discard(sha, stored);
    return false;
  }
  const merged = rebase(sent, current, stored, await loadDiffer());
  // Typed over what somebody else had changed: the next save finds it as a clash.
  if (merged === null) return false;
  editor.rebaseOn(sha, stored, merged);
  return merged.taken.length > 0 || merged.bodyTaken;
}

type Answer<Data> = { data: Data; fault: null } | { data: null; fault: Fault };

async function run<Data, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<Answer<Data>> {
  const { data, fault } = await send(document, variables);
  return fault || data === null ? { data: null, fault: fault as Fault } : { data, fault: null };
}

/** A save that was not answered may be stored: then what was typed since is a change of that, and clashes with nothing. */
async function settleUnanswered(editor: Editor, { place, collection, branch }: Target, slug: string): Promise<void> {
  const { unanswered } = editor;
  if (unanswered === null) return;
  const at = { collection, slug, branch: branch?.name ?? null };
  const entry = await readEntry(place, at, unanswered.raw !== null).catch(() => null);
  if (entry && editor.isNews(entry.sha) && sameContent(unanswered, contentOf(entry)))
    await settle(editor, unanswered, entry.sha, contentOf(entry));
}

const refused = (editor: Editor, fault: Fault): Saved => {
  editor.update({ faults: fieldFaults(fault) });
  return { kind: 'fault', fault };
};

/**
 * Does what is wanted in a draft that begins with it.
 * @param isContent it is done once for the same content: a repetition whose first answer was lost gets that answer
 */
async function toDraft({ place, branch, title }: Target, action: object, { isContent = false } = {}) {
  const input = { base: branch?.name ?? null, title, actions: [action] };
  const { data, fault } = await beginDraft(place, isContent ? { ...input, idempotency_key: keyFor(input) } : input);
  return fault ? { saved: null, fault } : { saved: data.saveToDraft, fault: null };
}

async function saveToDraft(editor: Editor, target: Target, sent: Content, action: object): Promise<Saved> {
  const { place, collection } = target;
  const { saved, fault } = await toDraft(target, action, { isContent: true });
  if (fault) return refused(editor, fault);
  const [conflict] = saved?.conflicts ?? [];
  if (conflict) return { kind: 'clash', clash: { conflict, sent } };
  const [result] = saved?.results ?? [];
  if (!saved?.branch || !result?.slug) return { kind: 'unchanged' };
  const { slug } = result;
  const draft = saved.branch.name;
  await editor.moveTo({ ...editor.key, branch: draft, entry: `${collection}/${slug}` });
  const entry = await readEntry(place, { collection, slug, branch: draft }, sent.raw !== null);
  const wasMerged = entry !== null && (await settle(editor, sent, entry.sha, contentOf(entry)));
  return { kind: 'saved', slug, draft, wasMerged };
}

/** Why nothing can be saved at all; null when it can. */
export function refusalOf(branch: EditedBranchFragment | null): Fault | null {
  const fault = { code: 'FORBIDDEN', reason: '', fields: new Map(), details: {} };
  if (branch === null) return { ...fault, code: 'NOT_FOUND', message: i18n.t('entry:branch_gone') };
  const { allowed, reason, message } = branch.can_commit;
  return allowed || opensDraft(branch) ? null : { ...fault, reason: reason ?? '', message: message ?? '' };
}

/** Saves what the editor holds. @param resolution of the clash that the save before has met */
export async function saveEntry(
  editor: Editor,
  target: Target,
  resolution?: { clash: Clash; input: ResolutionInput },
): Promise<Saved> {
  const { place, collection, slug, branch } = target;
  const { organization, project } = place;
  const refusal = refusalOf(branch);
  if (refusal) return { kind: 'fault', fault: refusal };
  if (slug !== null) await settleUnanswered(editor, target, slug);
  const sent = resolution?.clash.sent ?? editor.content();
  const { base } = editor;
  if (slug === null || target.isGone || editor.sha === null) {
    const wanted = editor.state().slug ?? slug ?? '';
    const problem = slug === null ? slugProblem(wanted) : null;
    if (problem !== null) {
      const message = i18n.t(problem.key, { characters: problem.characters });
      const fields = new Map([['/slug', message]]);
      return refused(editor, { code: 'BAD_REQUEST', reason: 'invalid_name', message, fields, details: {} });
    }
    const draft = {
      slug: wanted,
      ...(sent.raw === null ? { frontmatter: sent.fields, body: sent.body } : { raw: sent.raw }),
    };
    if (opensDraft(branch)) return saveToDraft(editor, target, sent, { op: 'create', collection, ...draft });
    const input = { collection, ...draft, branch: branch?.name ?? null };
    const keyed = { ...input, idempotency_key: keyFor(input) };
    const { data, fault } = await run(CreateEntry, { organization, project, input: keyed });
    if (fault) return refused(editor, fault);
    const record = data.createEntry?.record;
    if (!record) return { kind: 'unchanged' };
    await editor.moveTo({ ...editor.key, entry: `${collection}/${record.slug}` });
    await settle(editor, sent, record.sha, contentOf(record));
    editor.update({ slug: null, faults: new Map() });
    return { kind: 'saved', slug: record.slug, draft: null, wasMerged: false };
  }
  const change = changeOf(base, sent);
  if (change === null) return { kind: 'unchanged' };
  const edit = {
    ...change,
    ...(change.raw !== undefined && editor.isCrlf && { raw: change.raw.replaceAll('\n', '\r\n') }),
    sha: editor.sha,
    on_conflict: 'merge' as const,
    ...(resolution && { resolutions: [resolution.input] }),
  };
  if (opensDraft(branch)) return saveToDraft(editor, target, sent, { op: 'update', collection, slug, ...edit });
  const { data, fault } = await run(SaveEntry, {
    organization,
    project,
    input: { ...edit, collection, entry: slug, branch: branch?.name ?? null },
  });
  editor.unanswered = fault?.code === 'NETWORK' ? sent : null;
  if (fault) return refused(editor, fault);
  const saved = data.updateEntry;
  const [conflict] = saved?.conflicts ?? [];
  if (conflict) return { kind: 'clash', clash: { conflict, sent } };
  if (!saved) return { kind: 'unchanged' };
  await settle(editor, sent, saved.record.sha, contentOf(saved.record));
  editor.clearFaults();
  return { kind: 'saved', slug, draft: null, wasMerged: saved.merged };
}

export interface Renamed {
  slug: string;
  draft: string | null;
}

type Failed = { fault: Fault };

/** Renames the entry; what is typed and not saved stays as it is, under the new name. */
export async function renameEntry(editor: Editor, target: Target, to: string): Promise<Renamed | Failed> {
  const { place, collection, slug, branch } = target;
  const { organization, project } = place;
  const refusal = refusalOf(branch);
  if (refusal || slug === null) return { fault: refusal as Fault };
  const { sha } = editor;
  if (opensDraft(branch)) {
    const action = { op: 'move', collection, slug, to, sha };
    const { saved, fault } = await toDraft(target, action);
    if (fault) return { fault };
    const draft = saved?.branch?.name ?? null;
    await editor.moveTo({ ...editor.key, branch: draft ?? editor.key.branch, entry: `${collection}/${to}` });
    return { slug: to, draft };
  }
  const input = { collection, entry: slug, slug: to, sha, branch: branch?.name ?? null };
  const { data, fault } = await run(SaveEntry, { organization, project, input });
  if (fault) return { fault };
  const saved = data.updateEntry;
  const renamed = saved?.record.slug ?? to;
  // The page follows before it knows that the entry is gone from the old address; what was typed is stored meanwhile.
  void editor.moveTo({ ...editor.key, entry: `${collection}/${renamed}` });
  editor.update({ redirect: saved?.details?.redirect ?? null });
  return { slug: renamed, draft: null };
}

export interface Deleted {
  /** Commit that deleted it, to be taken back; null when that was in a new draft. */
  commit: string | null;
  draft: string | null;
  /** Its own files that went along. */
  assets: readonly string[];
}

interface DeleteOptions {
  /** Deletes although other entries need it. */
  force: boolean;
  /** Deletes its own files as well. */
  assets: boolean;
}

export async function deleteEntry(
  editor: Editor,
  target: Target,
  { force, assets }: DeleteOptions,
): Promise<Deleted | Failed> {
  const { place, collection, slug, branch } = target;
  const { organization, project } = place;
  const refusal = refusalOf(branch);
  if (refusal || slug === null) return { fault: refusal as Fault };
  const { sha } = editor;
  let deleted: Deleted;
  if (opensDraft(branch)) {
    const { saved, fault } = await toDraft(target, { op: 'delete', collection, slug, sha, force, assets });
    if (fault) return { fault };
    deleted = { commit: null, draft: saved?.branch?.name ?? null, assets: [] };
  } else {
    const input = { collection, entry: slug, sha, force, assets, branch: branch?.name ?? null };
    const { data, fault } = await run(RemoveEntry, { organization, project, input });
    if (fault) return { fault };
    deleted = {
      commit: data.deleteEntry?.commit.sha ?? null,
      draft: null,
      assets: data.deleteEntry?.assets ?? [],
    };
  }
  await editor.discard();
  return deleted;
}

/** Takes back a deletion, its files first. @returns why it could not be */
export async function undeleteEntry(
  { place, collection, slug, branch }: Target,
  commit: string,
  assets: readonly string[],
): Promise<Fault | null> {
  const { organization, project } = place;
  const at = { commit, mode: 'undo' as const, branch: branch?.name ?? null };
  for (const path of assets) {
    const { fault } = await run(BringBackEntry, { organization, project, input: { path, ...at } });
    if (fault) return fault;
  }
  return (await run(BringBackEntry, { organization, project, input: { collection, slug, ...at } })).fault;
}

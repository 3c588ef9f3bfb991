/**
 * What was typed and is not saved yet, kept in this browser (IndexedDB) so that it outlives a crash, a reload, a session and a server.
 * A page that is left may end before IndexedDB has committed, so it leaves its last state in localStorage, which is written before the call returns;
 * the next read of drafts moves it to IndexedDB. One record for each person, project, branch and entry. It holds the version that was edited beside what became of it, so that it can be compared,
 * merged and saved even when the branch or the entry is gone.
 */
import { type DBSchema, type IDBPDatabase, openDB } from 'idb';
import type { Fields } from './json.ts';

/** Where a draft belongs. */
export interface DraftKey {
  user: string;
  /** `organisation/project` */
  project: string;
  branch: string;
  /** `collection/slug`; of an entry that is not made yet `collection/` */
  entry: string;
}

interface Version {
  fields: Fields;
  text: string;
  /** The whole file, where it was edited as one; otherwise null. */
  raw: string | null;
}

export interface LocalDraft extends Version {
  /** Blob that was edited; null for an entry that is not made yet. */
  base_sha: string | null;
  base: Version;
  /** Fields by their pointers, with text that is no value yet, such as YAML in the midst of being typed; drafts of before have none. */
  unparsed?: [pointer: string, text: string][];
  /** Slug that is wanted, of an entry that is not made yet. */
  slug: string | null;
  /** Milliseconds since 1970. */
  at: number;
  /** Roughly, in bytes. */
  size: number;
}

interface Schema extends DBSchema {
  drafts: { key: string; value: LocalDraft; indexes: { at: number } };
}

const longestAge = 90 * 24 * 3600_000;
const mostBytes = 200 * 2 ** 20;

const textOf = ({ user, project, branch, entry }: DraftKey): string =>
  ['portico', user, project, branch, entry].map(encodeURIComponent).join(':');

/** In front of the names in localStorage. */
const left = 'draft:';

let opened: Promise<IDBPDatabase<Schema>> | null = null;

/** @throws DOMException where the browser refuses storage */
function database(): Promise<IDBPDatabase<Schema>> {
  opened ??= openDB<Schema>('portico', 1, {
    upgrade: (db) => void db.createObjectStore('drafts').createIndex('at', 'at'),
    terminated: () => {
      opened = null;
    },
  });
  opened.catch(() => {
    opened = null;
  });
  return opened;
}

/** Moves what pages that were left have put into localStorage to IndexedDB. */
async function collectLeft(): Promise<void> {
  for (const name of Object.keys(localStorage).filter((name) => name.startsWith(left))) {
    const text = localStorage.getItem(name);
    if (text === null) continue;
    const [key, draft] = [name.slice(left.length), JSON.parse(text) as LocalDraft | null];
    const transaction = (await database()).transaction('drafts', 'readwrite');
    if (draft === null) void transaction.store.delete(key);
    else if (((await transaction.store.get(key))?.at ?? 0) <= draft.at) void transaction.store.put(draft, key);
    await transaction.done;
    // Another tab may have been left meanwhile.
    if (localStorage.getItem(name) === text) localStorage.removeItem(name);
  }
}

export async function readLocalDraft(key: DraftKey): Promise<LocalDraft | undefined> {
  await collectLeft();
  return (await database()).get('drafts', textOf(key));
}

/** Keeps a draft in the place of the one before. @throws DOMException where the browser refuses it, or its disk is full */
export async function writeLocalDraft(key: DraftKey, draft: LocalDraft): Promise<void> {
  const transaction = (await database()).transaction('drafts', 'readwrite', { durability: 'relaxed' });
  void transaction.store.put(draft, textOf(key));
  // A page that is closed ends what is not committed.
  transaction.commit();
  await transaction.done;
  localStorage.removeItem(left + textOf(key));
}

export async function removeLocalDraft(key: DraftKey): Promise<void> {
  localStorage.removeItem(left + textOf(key));
  await (await database()).delete('drafts', textOf(key));
}

/**
 * Leaves a draft, or that there is none any more, for the next read before the page ends.
 * @throws DOMException where the browser refuses it, or above its limit (about 5 MB for all drafts together)
 */
export function leaveLocalDraft(key: DraftKey, draft: LocalDraft | null): void {
  localStorage.setItem(left + textOf(key), JSON.stringify(draft));
}

/** Removes what is older than 90 days, and the oldest of what is above 200 MiB. @returns how many were removed */
export async function pruneLocalDrafts(now = Date.now()): Promise<number> {
  const transaction = (await database()).transaction('drafts', 'readwrite');
  let [kept, removed] = [0, 0];
  for await (const cursor of transaction.store.index('at').iterate(null, 'prev')) {
    kept += cursor.value.size;
    if (cursor.value.at > now - longestAge && kept <= mostBytes) continue;
    await cursor.delete();
    removed += 1;
  }
  await transaction.done;
  return removed;
}

/** All drafts of a person, whatever projects they are of. */
const allOf = (user: string): IDBKeyRange => {
  const beginning = `portico:${encodeURIComponent(user)}:`;
  return IDBKeyRange.bound(beginning, `${beginning}\uffff`);
};

export async function countLocalDrafts(user: string): Promise<number> {
  await collectLeft();
  return (await database()).count('drafts', allOf(user));
}

export async function removeLocalDraftsOf(user: string): Promise<void> {
  await collectLeft();
  await (await database()).delete('drafts', allOf(user));
}

/** Opens an entry with what an earlier visit left unsaved in this browser, on whatever became of the entry since. */
import { type DraftKey, type LocalDraft, pruneLocalDrafts, readLocalDraft } from '../../lib/local-drafts.ts';
import { Editor } from './editor.ts';
import { type Content, changeOf, rebase, sameContent } from './rebase.ts';
import { loadDiffer } from './save.ts';

/** What was found: nothing; text on the version that is stored; text merged with a newer one; text that clashes with it; text of an entry that is gone. */
export type Restored = 'none' | 'restored' | 'merged' | 'behind' | 'gone';

export interface StoredVersion {
  sha: string;
  content: Content;
  isCrlf: boolean;
  /** What is wrong with it, by pointer into its fields. */
  faults: ReadonlyMap<string, string>;
}

export interface OpenedEditor {
  editor: Editor;
  restored: Restored;
  /** Milliseconds since 1970 at which the restored text was typed. */
  at: number | null;
}

const empty: Content = { fields: {}, body: '', raw: null };

/** @param stored null when there is no such entry; @param slug of an entry that is to be made */
export async function openEditor(
  key: DraftKey,
  stored: StoredVersion | null,
  slug: string | null,
  begin: Content = empty,
): Promise<OpenedEditor> {
  const opened = await open(key, stored, slug, begin);
  if (stored) opened.editor.showFaults(stored.faults);
  return opened;
}

async function open(
  key: DraftKey,
  stored: StoredVersion | null,
  slug: string | null,
  begin: Content,
): Promise<OpenedEditor> {
  const opening = { key, slug, isCrlf: stored?.isCrlf ?? false };
  const editor = new Editor({ ...opening, sha: stored?.sha ?? null, content: stored?.content ?? empty });
  let draft: LocalDraft | undefined;
  try {
    draft = await readLocalDraft(key);
    void pruneLocalDrafts().catch(() => {});
  } catch {
    editor.update({ keeping: 'refused' });
  }
  if (stored === null) editor.begin(begin);
  if (!draft) return { editor, restored: 'none', at: null };
  const { at } = draft;
  if (stored === null) {
    const isGone = draft.base_sha !== null;
    editor.restore({ ...draft, base_sha: null, base: { fields: {}, text: '', raw: null } });
    return { editor, restored: isGone ? 'gone' : 'restored', at };
  }
  editor.restore(draft);
  if (draft.base_sha === stored.sha) return { editor, restored: 'restored', at };
  const [base, mine] = [editor.base, editor.content()];
  if (changeOf(base, mine) === null && !editor.hasUnparsed) {
    await editor.discard(stored.sha, stored.content);
    return { editor, restored: 'none', at: null };
  }
  const merged = rebase(base, mine, stored.content, await loadDiffer());
  if (merged === null) {
    editor.isBehind = true;
    return { editor, restored: 'behind', at };
  }
  editor.rebaseOn(stored.sha, stored.content, merged);
  const isAsStored = changeOf(stored.content, merged.content) === null && !editor.hasUnparsed;
  return { editor, restored: isAsStored ? 'none' : 'merged', at };
}

/** Takes in a version that was saved while the entry is open: by somebody else, unless a save here was not answered. @returns whether it could be */
export async function takeIn(editor: Editor, stored: StoredVersion): Promise<'none' | 'merged' | 'behind'> {
  if (!editor.isNews(stored.sha)) return 'none';
  const { unanswered } = editor;
  const isOwn = unanswered !== null && sameContent(unanswered, stored.content);
  const merged = rebase(isOwn ? unanswered : editor.base, editor.content(), stored.content, await loadDiffer());
  // Meanwhile it may have been saved.
  if (!editor.isNews(stored.sha)) return 'none';
  if (merged === null) {
    editor.isBehind = true;
    editor.update({});
    return 'behind';
  }
  editor.rebaseOn(stored.sha, stored.content, merged);
  editor.showFaults(stored.faults);
  return isOwn ? 'none' : 'merged';
}

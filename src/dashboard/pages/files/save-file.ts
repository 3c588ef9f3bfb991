/**
 * Saving a text file: on the branch that is edited, or where that takes no commits, in a draft that begins with it. Always on the version that was
 * read: what others saved since is merged where other lines changed, and otherwise shown, and the person decides.
 */
import { type EditedBranchFragment, type FileContentFragment, FileNow } from '../../documents.ts';
import { commitChanges, type FileAction } from '../../lib/changes.ts';
import { client } from '../../lib/client.ts';
import { type Fault, faultOf } from '../../lib/faults.ts';
import type { Place } from '../../lib/place.ts';
import { base64Of } from '../../lib/upload.ts';
import type { Editor } from '../entry/editor.ts';
import { type StoredVersion, takeIn } from '../entry/open-editor.ts';
import { type Content, changeOf, sameContent } from '../entry/rebase.ts';
import { refusalOf } from '../entry/save.ts';

export interface FileTarget {
  place: Place;
  path: string;
  /** Files of media are uploaded, all others written. */
  isMedia: boolean;
  /** The branch that is edited; null when it is gone. */
  branch: EditedBranchFragment | null;
  /** It was deleted; a save makes it again. */
  isGone: boolean;
}

export type FileSaved =
  | { kind: 'unchanged' }
  | {
      kind: 'saved' /** What can be taken back. */;
      commit: string | null /** Branch of the draft that the save began. */;
      draft: string | null;
    }
  /** Others' changes are in the editor now, and nothing is saved yet. */
  | { kind: 'merged' }
  | { kind: 'clash'; stored: StoredVersion }
  | { kind: 'gone' }
  | { kind: 'fault'; fault: Fault };

/** Where the local draft of a file is kept: entries have their collection in front. */
export const draftOf = (path: string): string => `/${path}`;

/** All lines of a text end with CR and LF. */
const endsInCrlf = (text: string) => text.includes('\r\n') && !/(?:^|[^\r])\n/.test(text);

const contentOf = (text: string): Content => ({ fields: {}, body: text, raw: null });

/** What the editor holds of a stored file: lines end with a line feed alone, and as they did when it is saved. */
export function versionOf({ sha, content }: Pick<FileContentFragment, 'sha' | 'content'>): StoredVersion {
  const isCrlf = endsInCrlf(content);
  return { sha, content: contentOf(isCrlf ? content.replaceAll('\r\n', '\n') : content), isCrlf, faults: new Map() };
}

/** A file as a branch has it now; null: it is not there. @throws Fault */
export async function readFile(at: {
  place: Place;
  path: string;
  branch: string | null;
}): Promise<StoredVersion | null> {
  const { place, path, branch } = at;
  const { organization, project } = place;
  const variables = { organization, project, branch, path };
  const { data, error } = await client.query(FileNow, variables, { requestPolicy: 'network-only' }).toPromise();
  const file = data?.project?.studio?.file;
  const fault = error ? faultOf(error) : null;
  if (!file && fault && fault.code !== 'NOT_FOUND') throw fault;
  return file ? versionOf(file) : null;
}

async function actionFor({ path, isMedia, isGone }: FileTarget, editor: Editor, text: string): Promise<FileAction> {
  const content = editor.isCrlf ? text.replaceAll('\n', '\r\n') : text;
  const sha = isGone ? null : editor.sha;
  if (isMedia && sha !== null)
    return { op: 'upload_media', path, content: await base64Of(new Blob([content])), overwrite: true, sha };
  return { op: 'write_file', path, content, ...(sha !== null && { sha }) };
}

/** What is edited from now on is what was sent; what was typed meanwhile is a change of it. */
const settle = (editor: Editor, sha: string, sent: Content): void =>
  editor.rebaseOn(sha, sent, { content: editor.content(), edits: [], taken: [], bodyTaken: false });

/** Another version is stored than the one that was edited. */
async function meet(editor: Editor, target: FileTarget, sent: Content, fault: Fault): Promise<FileSaved> {
  const stored = await readFile({ ...target, branch: target.branch?.name ?? null });
  if (stored === null) return editor.sha === null ? { kind: 'fault', fault } : { kind: 'gone' };
  // A save whose answer was lost.
  if (sameContent(stored.content, sent)) {
    settle(editor, stored.sha, sent);
    return { kind: 'saved', commit: null, draft: null };
  }
  if (editor.sha === null) return { kind: 'fault', fault };
  return (await takeIn(editor, stored)) === 'merged' ? { kind: 'merged' } : { kind: 'clash', stored };
}

/** Saves what the editor holds. */
export async function saveFile(editor: Editor, target: FileTarget): Promise<FileSaved> {
  const { place, path, branch, isGone } = target;
  const refusal = refusalOf(branch);
  if (refusal) return { kind: 'fault', fault: refusal };
  const sent = editor.content();
  if (editor.sha !== null && !isGone && changeOf(editor.base, sent) === null) return { kind: 'unchanged' };
  const name = path.slice(path.lastIndexOf('/') + 1);
  const { committed, fault } = await commitChanges(place, [await actionFor(target, editor, sent.body)], name);
  if (fault?.reason === 'sha_mismatch' || fault?.reason === 'already_exists') {
    try {
      return await meet(editor, target, sent, fault);
    } catch (unread) {
      return { kind: 'fault', fault: unread as Fault };
    }
  }
  if (fault) return { kind: 'fault', fault };
  const sha = committed?.results[0]?.sha;
  if (!committed || !sha) return { kind: 'unchanged' };
  const draft = committed.begun;
  await editor.moveTo({ ...editor.key, ...(draft !== null && { branch: draft }), entry: draftOf(path) });
  settle(editor, sha, sent);
  editor.update({ slug: null });
  return { kind: 'saved', commit: committed.parent === null ? null : committed.sha, draft };
}

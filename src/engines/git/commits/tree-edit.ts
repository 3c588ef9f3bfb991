import { pathProblem } from '../../../domain/studio/path-rules.ts';
import { DomainError } from '../../../kernel/errors.ts';
import type { Oid, TreeEntry } from '../../../ports/git-records.ts';
import type { Change } from '../../../ports/git-writes.ts';
import { rawLength } from '../objects/object-id.ts';
import type { PendingObjects } from '../objects/pending-objects.ts';
import { isLink, modes, Tree } from '../objects/tree-codec.ts';

/** Largest blob the service writes, bytes. */
const largestBlob = 100 * 1024 * 1024;
const writableModes = new Set<string>([modes.file, modes.executable, modes.symlink]);

/** The changes below one directory: a name is a file that changes, a directory with changes below it, or (file ↔ directory) both. */
interface Branch {
  path: string;
  change: Change | null;
  below: Map<string, Branch>;
}

/**
 * Applies changes to a tree, reading only the directories on the way; new blobs and trees go into `objects`.
 *
 * @param root the tree to start from; null: the empty one
 * @returns the new root, the old one when nothing changed; null when no file is left
 * @throws DomainError `not_editable` through or onto a symlink or submodule, `name_collision` where a file and a directory meet,
 *   `invalid_path`, `too_large`
 */
export async function applyChanges(
  objects: PendingObjects,
  root: Oid | null,
  changes: readonly Change[],
): Promise<Oid | null> {
  const top: Branch = { path: '', change: null, below: new Map() };
  for (const change of changes) place(top, change);
  return editDirectory(objects, root, top);
}

function place(top: Branch, change: Change): void {
  // A file whose name would be refused today can be removed.
  const problem = change.content === null ? null : pathProblem(change.path);
  if (problem !== null) throw new DomainError('invalid_path', `path: ${problem}`);
  const segments = change.path.split('/');
  if (change.mode !== undefined && !writableModes.has(change.mode))
    throw new Error(`mode ${change.mode} cannot be written`);
  if (Buffer.isBuffer(change.content) && change.content.length > largestBlob)
    throw new DomainError('too_large', `${change.path} is larger than 100 MiB`);
  let at = top;
  for (const name of segments) {
    const path = at.path === '' ? name : `${at.path}/${name}`;
    const next = at.below.get(name) ?? { path, change: null, below: new Map<string, Branch>() };
    at.below.set(name, next);
    at = next;
  }
  if (at.change !== null) throw new Error(`one commit changes ${change.path} twice`);
  at.change = change;
}

async function editDirectory(objects: PendingObjects, oid: Oid | null, branch: Branch): Promise<Oid | null> {
  const tree = oid === null ? Tree.empty(rawLength[objects.format]) : await objects.tree(oid);
  const edits = new Map<string, TreeEntry | null>();
  for (const [name, child] of branch.below) {
    const old = tree.find(name);
    const edited = await editEntry(objects, name, old, child);
    if (edited?.oid !== old?.oid || edited?.mode !== old?.mode) edits.set(name, edited);
  }
  if (edits.size === 0) return oid;
  const edited = tree.edit(edits);
  if (edited.size === 0) return null;
  return objects.addTree(edited);
}

async function editEntry(
  objects: PendingObjects,
  name: string,
  old: TreeEntry | null,
  branch: Branch,
): Promise<TreeEntry | null> {
  const { change, below, path } = branch;
  const file = change === null ? undefined : change;
  if (below.size === 0) return file === undefined ? old : editFile(objects, name, old, file);
  if (old !== null && isLink(old.mode) && file?.content !== null) throw linkInTheWay(path);

  // A file that is in the way is removed first when the same commit removes it.
  const rest = old !== null && old.mode !== modes.tree ? (file?.content === null ? null : old) : old;
  if (rest !== null && rest.mode !== modes.tree) {
    if (file === undefined && !creates(branch)) return rest;
    if (creates(branch)) throw new DomainError('name_collision', `${path} is a file, not a directory`);
  }
  const oid = await editDirectory(objects, rest?.mode === modes.tree ? rest.oid : null, branch);
  const directory = oid === null ? null : { name, mode: modes.tree, oid };
  if (file === undefined || file.content === null) return directory;
  if (directory !== null) throw new DomainError('name_collision', `${path} is a directory, not a file`);
  return editFile(objects, name, rest?.mode === modes.tree ? null : rest, file);
}

function editFile(objects: PendingObjects, name: string, old: TreeEntry | null, change: Change): TreeEntry | null {
  if (old?.mode === modes.tree) {
    if (change.content === null) throw new DomainError('not_editable', `${change.path} is a directory, not a file`);
    throw new DomainError('name_collision', `${change.path} is a directory, not a file`);
  }
  if (change.content === null) return null;
  // A new content for a symlink would be a new target; only a writer that names the mode can mean that.
  if (old !== null && isLink(old.mode) && (change.mode === undefined || old.mode === modes.submodule)) {
    throw linkInTheWay(change.path);
  }
  const oid = Buffer.isBuffer(change.content) ? objects.addBlob(change.content) : change.content.oid;
  return { name, mode: change.mode ?? old?.mode ?? modes.file, oid };
}

function creates(branch: Branch): boolean {
  return [...branch.below.values()].some((child) => (child.change?.content ?? null) !== null || creates(child));
}

function linkInTheWay(path: string): DomainError {
  return new DomainError('not_editable', `${path} is a symlink or a submodule and cannot be written through`);
}

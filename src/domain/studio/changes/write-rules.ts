import { DomainError, fieldError } from '../../../kernel/errors.ts';
import type { Snapshot, TreeEntry } from '../../../ports/git-records.ts';
import type { StudioContext } from '../studio.ts';

type Conditions = StudioContext['conditions'];
type Write = Pick<StudioContext<'manage_studio'>, 'actor' | 'require'>;

/** Names must survive git's commit format, where `<`, `>` and line ends separate. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
const clean = (text: string) => text.replace(/[<>\u0000-\u001f\u007f]/g, '').trim();

/** The author line: the caller, or somebody else when the caller may manage the studio. */
export function authorOf(
  context: Write,
  author: { name: string; email: string } | undefined,
): { name: string; email: string } {
  if (author) context.require('manage_studio');
  const { name, email } = author ?? context.actor.author;
  const cleaned = { name: clean(name), email: clean(email) };
  if (!cleaned.name || !/^[^\s@]+@[^\s@]+$/.test(cleaned.email)) {
    throw fieldError('invalid_request', 'author', 'must have a name and an e-mail address');
  }
  return cleaned;
}

/** A commit message a caller gave, or the one the change speaks of itself. */
export function messageOf(message: string | undefined, otherwise: string): string {
  const text = message?.replaceAll('\u0000', '').trim();
  return text ? text : otherwise;
}

/** The object id in an If-Match list, tags of this service (`"<oid>.<view>"`) and bare ids alike; `*` is any. */
function expectedOids(ifMatch: string): string[] {
  return ifMatch.split(',').map((tag) => tag.trim().replace(/^W\//, '').replace(/^"|"$/g, '').split('.')[0] ?? '');
}

/** Whether an If-Match list names this object. */
export const namesOid = (ifMatch: string, oid: string) =>
  expectedOids(ifMatch).some((expected) => expected === '*' || expected === oid);

/** The version the writer saw, when it is not the stored one; null when it is, or the writer does not say. */
export function seenOid(current: TreeEntry, ifMatch: string | undefined, sha: string | undefined): string | null {
  if (ifMatch !== undefined && !namesOid(ifMatch, current.oid)) return expectedOids(ifMatch)[0] ?? '';
  return sha !== undefined && sha !== current.oid ? sha : null;
}

/** @throws DomainError `precondition_failed` when a write is not to be done to this version, or with `*` to any (RFC 9110 13.1.2). */
export function checkNoneMatch(current: TreeEntry, { if_none_match }: Conditions): void {
  if (if_none_match === undefined || !namesOid(if_none_match, current.oid)) return;
  throw new DomainError(
    'precondition_failed',
    'If-None-Match: the file is stored already, in a version that it names',
    {
      details: { current_sha: current.oid },
    },
  );
}

/**
 * Compares what the writer saw with what is stored.
 * @throws DomainError `precondition_failed` for If-Match and If-None-Match, `sha_mismatch` for the body's `sha`.
 */
export function checkVersion(current: TreeEntry, conditions: Conditions, sha: string | undefined): void {
  const details = { current_sha: current.oid };
  checkNoneMatch(current, conditions);
  if (conditions.if_match !== undefined && !namesOid(conditions.if_match, current.oid)) {
    throw new DomainError('precondition_failed', 'If-Match: the stored file has changed since it was read', {
      details,
    });
  }
  if (sha !== undefined && sha !== current.oid) {
    throw new DomainError('sha_mismatch', 'sha: the stored file has changed since it was read', { details });
  }
}

/** There is no file, so that a writer who has seen one has seen it before it was deleted. @throws DomainError `precondition_failed`, `sha_mismatch` */
export function checkUnseen(conditions: Conditions, sha: string | undefined): void {
  const message = 'the file has been deleted since it was read';
  if (conditions.if_match !== undefined) throw new DomainError('precondition_failed', `If-Match: ${message}`);
  if (sha !== undefined) throw new DomainError('sha_mismatch', `sha: ${message}`);
}

/** A directory is looked for in so many spellings: their number may double with each level, while others wait for the branch. */
const mostSpellings = 100;

/**
 * Checks that a new file may stand at a path. Only what is new of it is held against what is there: a directory that stands beside one of another
 * spelling has its new files nevertheless, unless that one has the like.
 * @throws DomainError `already_exists`, `name_collision` when a name beside it differs only in case or normalisation,
 * `not_editable` when an ancestor is a symlink, a submodule or a file.
 */
export async function checkFree(head: Snapshot, path: string, field: string): Promise<void> {
  const { entry, blocked } = await head.lookup(path);
  if (blocked)
    throw fieldError('not_editable', field, `${blocked} is a symlink or submodule and is never written through`);
  if (entry) throw fieldError('already_exists', field, `${path} exists`);
  const segments = path.split('/');
  // The directory in every spelling that is there.
  let directories = [''];
  for (const [level, name] of segments.entries()) {
    const here = segments.slice(0, level + 1).join('/');
    const alike: (TreeEntry & { path: string })[] = [];
    for (const directory of directories)
      for (const found of await head.alike(directory, name))
        alike.push({ ...found, path: directory === '' ? found.name : `${directory}/${found.name}` });
    const own = alike.find((each) => each.path === here);
    const other = alike[0];
    if (!own && other) {
      const [one, two] = other.name === name ? [here, other.path] : [name, other.name];
      throw fieldError('name_collision', field, `${one} differs from ${two} only in case or normalisation`);
    }
    if (own && own.mode !== '40000') throw fieldError('not_editable', field, `${here} is a file, not a directory`);
    directories = alike.flatMap((each) => (each.mode === '40000' ? [each.path] : []));
    if (directories.length > mostSpellings)
      throw fieldError(
        'name_collision',
        field,
        `${here} is there in more than ${mostSpellings} spellings; rename some`,
      );
  }
}

import { fieldError } from '../../kernel/errors.ts';
import { forEachYielding } from '../../lib/concurrency.ts';
import { foldCase } from '../../lib/text.ts';

/** `refs/heads/` and the name become a file path; the longest segment must leave room for git's `.lock`. */
const segmentBytes = 250;
const nameBytes = 1000;
/** Segments of a new name: each but the last is a directory, which lists of refs walk and pushes make durable. */
const deepestName = 32;

// biome-ignore lint/suspicious/noControlCharactersInRegex: git refuses control characters in ref names
const forbidden = /[\u0000-\u0020\u007f~^:?*[\\]/u;
const utf8 = new TextEncoder();

/**
 * Why `refs/heads/` and a name are no ref by the rules of git-check-ref-format, as a sentence part; null when they are. A name that looks like
 * an option is only a name: git is given whole refs. Beyond git: not longer than a file system can store, and well-formed Unicode.
 */
export function refNameProblem(name: string): string | null {
  if (name === '') return 'must not be empty';
  if (!name.isWellFormed()) return 'must be valid Unicode';
  if (forbidden.test(name)) return 'must not contain spaces, control characters or any of ~ ^ : ? * [ \\';
  if (name.includes('..')) return 'must not contain two dots in a row';
  if (name.includes('@{')) return 'must not contain "@{"';
  if (name.endsWith('.')) return 'must not end with a dot';
  if (utf8.encode(name).length > nameBytes) return `must be at most ${nameBytes} bytes long`;
  for (const segment of name.split('/')) {
    if (segment === '') return 'must not start or end with a slash or contain two in a row';
    if (segment.startsWith('.')) return 'must not contain a segment that starts with a dot';
    if (segment.endsWith('.lock')) return 'must not contain a segment that ends with ".lock"';
    if (utf8.encode(segment).length > segmentBytes)
      return `must not contain a segment of more than ${segmentBytes} bytes`;
  }
  return null;
}

/**
 * Checks a branch name given by a caller (short, without `refs/heads/`) and returns it.
 *
 * @param field dotted name of the input field, for the message
 * @throws DomainError `invalid_name`
 */
export function checkRefName(field: string, name: string): string {
  const problem = refNameProblem(name);
  if (problem !== null) throw fieldError('invalid_name', field, problem);
  return name;
}

/** What a terminal does not show, or shows at another place: format characters such as direction marks, line and paragraph separators. */
const unseen = /[\p{Bidi_Control}\p{Cf}\p{Zl}\p{Zp}\u0080-\u009f]/u;

/** What git itself writes beside HEAD, such as FETCH_HEAD and ORIG_HEAD (gitglossary, "pseudoref"). */
const pseudoRef = /^(?:[A-Z]+_)*HEAD$/;

/**
 * Why a branch or tag of this name (short) may not be made, by whatever way, as a sentence part; null when it may. Beside the rules of git:
 * nothing that reads as an option, as HEAD or another ref that git keeps for itself, as a full ref or as the id of a commit, and nothing that cannot be seen. Refs of such names that
 * are there already can be used like all others.
 */
export function newRefNameProblem(name: string): string | null {
  const problem = refNameProblem(name);
  if (problem !== null) return problem;
  // What git stores as other bytes than UTF-8 is read as this character.
  if (name.includes('\uFFFD')) return 'must be valid Unicode';
  if (name.startsWith('-')) return 'must not start with a dash';
  if (name === '@' || name === 'refs' || pseudoRef.test(name)) return `must not be ${name}`;
  const segments = name.split('/');
  if (segments.some((segment) => segment.startsWith('-'))) return 'must not contain a segment that starts with a dash';
  if (segments.length > deepestName) return `must be at most ${deepestName} segments deep`;
  if (segments.includes('HEAD')) return 'must not contain the segment HEAD';
  const [first = ''] = segments;
  if (first === 'refs' || first === 'heads') return `must not start with ${first}/; give the short name`;
  if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(name)) return 'must not look like the id of a commit';
  if (unseen.test(name)) return 'must not contain invisible characters or marks of direction';
  return null;
}

/**
 * Checks the name of a branch that is to be made.
 * @throws DomainError `invalid_name`
 */
export function checkNewRefName(field: string, name: string): string {
  const problem = newRefNameProblem(name);
  if (problem !== null) throw fieldError('invalid_name', field, problem);
  return name;
}

/** A ref's name as it can be shown: quoted, with what cannot be seen in it written out. */
export function shownRefName(name: string): string {
  return JSON.stringify(name).replace(
    new RegExp(unseen, 'gu'),
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** Refs that are named in a notice; of the others it says how many there are. */
const namedAtMost = 5;

/**
 * What is to be known of refs that were left out of a repository since their names cannot be used here, as a sentence; null when there are none.
 * @param refs full names, `refs/heads/-x`, as another repository has them
 */
export function leftOutNotice(refs: readonly string[]): string | null {
  if (refs.length === 0) return null;
  const named = refs.slice(0, namedAtMost).map((ref) => {
    const [, kind = '', name = ''] = /^refs\/(head|tag)s\/(.*)$/su.exec(ref) ?? [];
    return `${kind === 'tag' ? 'tag' : 'branch'} ${shownRefName(name)} (${newRefNameProblem(name)})`;
  });
  const more = refs.length > namedAtMost ? ` and ${refs.length - namedAtMost} more` : '';
  return `Left out for their names: ${named.join(', ')}${more}; rename them at the source to have them here`;
}

/** What is at a folded segment of names: a ref, others below it, or both where they were made by other means. */
interface NameNode {
  readonly below: Map<string, NameNode>;
  /** The ref that ends here. */
  name?: string;
  /** One of those below. */
  lower?: string;
}

const newNode = (): NameNode => ({ below: new Map() });

/** Names of refs of one kind, by which a new one may be mistaken for another or cannot stand beside it. */
export class RefNames {
  readonly #root = newNode();
  #directories = 0;

  /** There may be a hundred thousand. */
  static async of(names: Iterable<string>): Promise<RefNames> {
    const all = new RefNames();
    await forEachYielding(names, (name) => all.add(name));
    return all;
  }

  /** How many directories hold them, where each is a file. */
  get directories(): number {
    return this.#directories;
  }

  add(name: string): void {
    let node = this.#root;
    for (const segment of foldCase(name).split('/')) {
      if (node !== this.#root && node.below.size === 0) this.#directories += 1;
      node.lower = name;
      const next = node.below.get(segment) ?? newNode();
      node.below.set(segment, next);
      node = next;
    }
    node.name = name;
  }

  /** Why a name cannot be added, as a sentence part; null when it can. One that is there already has no rival but others. */
  rivalry(name: string): string | null {
    let node: NameNode | undefined = this.#root;
    let above: string | undefined;
    for (const segment of foldCase(name).split('/')) {
      above ??= node?.name;
      node = node?.below.get(segment);
    }
    if (node?.name !== undefined && node.name !== name)
      return `differs from ${node.name} only in case or normalisation`;
    const other = above ?? node?.lower;
    return other === undefined ? null : `cannot stand beside ${other}: one would be a directory of the other`;
  }
}

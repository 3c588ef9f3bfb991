import { fieldError } from '../errors.ts';

/** `refs/heads/` and the name become a file path; the longest segment must leave room for git's `.lock`. */
const segmentBytes = 250;
const nameBytes = 1000;

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

/**
 * Checks the name of a branch that is to be made: beside the rules of git, nothing that reads as an option, as HEAD, as a full ref or as the id
 * of a commit. Branches of such names, which other tools can make, can be used like all others.
 * @throws DomainError `invalid_name`
 */
export function checkNewRefName(field: string, name: string): string {
  if (name.startsWith('-')) throw fieldError('invalid_name', field, 'must not start with a dash');
  if (name === 'HEAD') throw fieldError('invalid_name', field, 'must not be HEAD');
  if (name.startsWith('refs/'))
    throw fieldError('invalid_name', field, 'must not start with refs/; give the short name');
  if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(name)) {
    throw fieldError('invalid_name', field, 'must not look like the id of a commit');
  }
  return checkRefName(field, name);
}

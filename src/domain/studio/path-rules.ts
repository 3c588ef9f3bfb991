import { fieldError } from '../../kernel/errors.ts';
import { foldCase, normalized } from '../../lib/text.ts';

/** Longest path segment, bytes of UTF-8: the limit of the common file systems a clone may land on. */
const segmentBytes = 255;
/** Longest whole path, bytes of UTF-8. What is longer in a text names no file; its `../` are resolved in a time that grows with their square. */
export const pathBytes = 4096;

/** Deepest path, segments: trees below that are refused when they are imported. */
export const deepestPath = 64;

/** Code points HFS+ drops when it compares names, so that `.g<ZWNJ>it` would be `.git` there (git's own list, utf8.c). */
const hfsIgnorable = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;
/** NTFS drops everything from the first colon (an alternate data stream), and dots and spaces at the end. */
const ntfsStream = /:.*/su;
const ntfsTail = /(?<![. ])[. ]+$/u;
/** `GIT~1` is the short name NTFS gives to `.git`. */
const gitNames = new Set(['.git', 'git~1']);

const windowsDevice = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)[ ]*([.:]|$)/iu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const control = /[\u0000-\u001f\u007f-\u009f]/u;

const utf8 = new TextEncoder();

const tooLong = `must be at most ${pathBytes} bytes long`;
/** A character of a normalised path has at most two code units without that for each of its bytes. */
const longestUnnormalised = 2 * pathBytes;

/** A name as the file systems compare it on which case, some code points, and what stands at the end do not count. */
export const plainSegment = (segment: string): string =>
  foldCase(segment.replace(hfsIgnorable, '')).replace(ntfsStream, '').replace(ntfsTail, '');

/**
 * True when a segment is `.git` on some file system a clone may land on: any case, trailing dots or spaces, `git~1`, an NTFS
 * stream (`.git::$INDEX_ALLOCATION`) or HFS-ignorable code points.
 */
export function isGitDisguise(segment: string): boolean {
  return gitNames.has(plainSegment(segment));
}

/** Files git takes its settings from, and how NTFS begins their short names: the first four of a directory, and later ones (git's list, path.c). */
const settingsFiles = [
  { kind: 'modules', first: 'gitmod', later: 'gi7eba' },
  { kind: 'attributes', first: 'gitatt', later: 'gi7d29' },
  { kind: 'ignore', first: 'gitign', later: 'gi250a' },
] as const;
const shortName = /^([^~]*)~([1-9]\d*)$/;

/** What settings of git a segment names on some file system a clone may land on, such as `gitmod~1`; null for none. */
export function gitSettings(segment: string): (typeof settingsFiles)[number]['kind'] | null {
  const name = plainSegment(segment);
  const [, start = '', number = ''] = shortName.exec(name) ?? [];
  const isShort = ({ first, later }: (typeof settingsFiles)[number]) =>
    (start === first && /^[1-4]$/.test(number)) || (number !== '' && name.length === 8 && later.startsWith(start));
  return settingsFiles.find((file) => name === `.git${file.kind}` || isShort(file))?.kind ?? null;
}

const settingsAt = (path: string) => gitSettings(path.slice(path.lastIndexOf('/') + 1));

/** Whether a file names submodules and where they are fetched from, on some file system. */
export const namesModules = (path: string): boolean => settingsAt(path) === 'modules';

/** git reads no longer line of attributes, and refuses objects that have one (git-fsck, gitattributesLineLength). */
const maxAttributesLine = 2047;

/** Why git would refuse a text at a path in a push, as a sentence part, and whether of the path or of the content; null: it would not. */
export function settingsProblem(path: string, bytes: Buffer): { of: 'path' | 'content'; problem: string } | null {
  if (namesModules(path))
    return { of: 'path', problem: 'names submodules and where they are fetched from; push it with git' };
  if (settingsAt(path) !== 'attributes') return null;
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(10, start);
    const next = end === -1 ? bytes.length : end;
    if (next - start > maxAttributesLine)
      return { of: 'content', problem: `must have lines of at most ${maxAttributesLine} bytes for git` };
    start = next + 1;
  }
  return null;
}

/**
 * What makes a path name something else than one file below the root, as a sentence part; null when nothing does. These rules hold
 * for every path, stored ones included.
 */
export function pathProblem(path: string): string | null {
  if (path === '') return 'must not be empty';
  if (!path.isWellFormed()) return 'must be valid Unicode';
  if (control.test(path)) return 'must not contain control characters';
  if (path.includes('\\')) return 'must not contain a backslash';
  if (path.length > pathBytes || utf8.encode(path).length > pathBytes) return tooLong;
  const segments = path.split('/');
  if (segments.length > deepestPath) return `must be at most ${deepestPath} segments deep`;
  for (const segment of segments) {
    if (segment === '') return 'must not start or end with a slash or contain two in a row';
    if (segment === '.' || segment === '..') return `must not contain the segment "${segment}"`;
    if (utf8.encode(segment).length > segmentBytes)
      return `must not contain a segment of more than ${segmentBytes} bytes`;
    if (isGitDisguise(segment)) return 'must not contain a segment that names .git';
  }
  return null;
}

/**
 * What makes a path one that no git tree of ours holds; null when nothing does. Backslashes and control characters are names that new files
 * may not have, and stored ones may.
 */
function addressProblem(path: string): string | null {
  if (path === '') return 'must not be empty';
  if (!path.isWellFormed()) return 'must be valid Unicode';
  if (path.includes('\u0000')) return 'must not contain control characters';
  if (path.length > pathBytes) return tooLong;
  for (const segment of path.split('/')) {
    if (segment === '') return 'must not start or end with a slash or contain two in a row';
    if (segment === '.' || segment === '..') return `must not contain the segment "${segment}"`;
    if (isGitDisguise(segment)) return 'must not contain a segment that names .git';
  }
  return null;
}

const directoryProblem = (segment: string) =>
  `must not contain the directory "${segment}", which is a file of git's settings on some systems`;

/** What no written file may lie below, as a sentence part: git refuses a history in which its settings are a directory (git-fsck, gitmodulesBlob). */
export function placeProblem(path: string): string | null {
  const directories = path.split('/').slice(0, -1);
  const unwise = directories.find((segment) => gitSettings(segment) !== null);
  return unwise === undefined ? null : directoryProblem(unwise);
}

/** What makes a path unwise as a new name, as a sentence part; null when nothing does. Stored files may break these rules. */
export function nameProblem(path: string): string | null {
  const problem = placeProblem(path);
  if (problem !== null) return problem;
  for (const segment of path.split('/')) {
    if (windowsDevice.test(segment)) return `must not contain the Windows device name "${segment}"`;
    if (/[. ]$/u.test(segment)) return 'must not contain a segment that ends with a dot or a space';
  }
  return null;
}

/**
 * Checks a path given by a caller and returns it NFC-normalised, as it is to be stored. Limits count bytes of the normalised UTF-8.
 *
 * @param field dotted name of the input field, for the message
 * @throws DomainError `invalid_path` when it could name something else, `invalid_name` when it is only unwise
 */
export function checkPath(field: string, path: string): string {
  if (path.length > longestUnnormalised) throw fieldError('invalid_path', field, tooLong);
  const normal = normalized(path);
  const problem = pathProblem(normal);
  if (problem !== null) throw fieldError('invalid_path', field, problem);
  const unwise = nameProblem(normal);
  if (unwise !== null) throw fieldError('invalid_name', field, unwise);
  return normal;
}

/**
 * Checks the path of a directory, or a slug, of which a directory can be made: for a page of its own, or its files.
 * @returns it NFC-normalised
 * @throws what `checkPath` throws
 */
export function checkDirectory(field: string, path: string): string {
  const normal = checkPath(field, path);
  const last = normal.slice(normal.lastIndexOf('/') + 1);
  if (gitSettings(last) !== null) throw fieldError('invalid_name', field, directoryProblem(last));
  return normal;
}

/**
 * Checks a path or slug before something stored is looked for by it. Where nothing is found, `checkStoredPath` says what else is wrong.
 * @throws DomainError `invalid_path`
 */
export function checkAddress(field: string, path: string): string {
  const problem = addressProblem(path);
  if (problem !== null) throw fieldError('invalid_path', field, problem);
  return path;
}

/**
 * Checks a path or slug that addresses something stored. Unwise names pass: what a push brought in must stay readable and deletable.
 * @throws DomainError `invalid_path`
 */
export function checkStoredPath(field: string, path: string): string {
  const problem = pathProblem(path);
  if (problem !== null) throw fieldError('invalid_path', field, problem);
  return path;
}

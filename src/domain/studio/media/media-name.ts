import { fieldError } from '../../errors.ts';
import { checkPath } from '../path-rules.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
const control = /[\u0000-\u001f\u007f-\u009f]/g;

/** The name a file came with, as far as it can be one: browsers send what stands on somebody's disk. */
export const cleanName = (name: string): string => name.replace(control, '');

/**
 * The path an upload is stored at: NFC, spaces become `-`.
 * @throws DomainError `invalid_path`, `invalid_name`
 */
export function mediaPath(path: string): string {
  // Before the spaces go: one at the end is a slip, and would become a part of the extension.
  const checked = checkPath('path', path).replace(/ +/g, '-');
  const problem = mediaNameProblem(checked);
  if (problem !== null) throw fieldError('invalid_name', 'path', problem);
  return checked;
}

/** What makes a path no name of media, as a sentence part; null when nothing does. */
export function mediaNameProblem(path: string): string | null {
  const isHidden = path.split('/').some((segment) => segment.startsWith('.'));
  return isHidden ? 'must not contain a name that begins with a dot' : null;
}

/** The `at`-th name to try when one is taken: `photo.png`, `photo-1.png`, `photo-2.png`. */
export function numbered(path: string, at: number): string {
  if (at === 0) return path;
  const slash = path.lastIndexOf('/');
  const dot = path.lastIndexOf('.');
  return dot > slash + 1 ? `${path.slice(0, dot)}-${at}${path.slice(dot)}` : `${path}-${at}`;
}

import { fieldError } from '../../errors.ts';
import { checkPath } from '../path-rules.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
const control = /[\u0000-\u001f\u007f-\u009f]/g;

/**
 * The path an upload is stored at: NFC, control characters removed, spaces become `-`.
 * @throws DomainError `invalid_path`, `invalid_name`
 */
export function mediaPath(path: string): string {
  const cleaned = path.normalize('NFC').replace(control, '').replace(/ +/g, '-');
  const checked = checkPath('path', cleaned);
  if (checked.split('/').some((segment) => segment.startsWith('.'))) {
    throw fieldError('invalid_name', 'path', 'must not contain a name that begins with a dot');
  }
  return checked;
}

/** The `at`-th name to try when one is taken: `photo.png`, `photo-1.png`, `photo-2.png`. */
export function numbered(path: string, at: number): string {
  if (at === 0) return path;
  const slash = path.lastIndexOf('/');
  const dot = path.lastIndexOf('.');
  return dot > slash + 1 ? `${path.slice(0, dot)}-${at}${path.slice(dot)}` : `${path}-${at}`;
}

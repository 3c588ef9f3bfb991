import { fieldError } from '../../errors.ts';
import { type Frontmatter, type FrontmatterFormat, limits } from './types.ts';
import { isRecord } from './values.ts';

/**
 * Refuses what no frontmatter can hold: values JSON does not have, a depth over 64, and null in TOML.
 *
 * @throws DomainError `validation_failed`, naming the key.
 */
export function checkWritable(frontmatter: Frontmatter, format: FrontmatterFormat): void {
  check(frontmatter, 'frontmatter', 1, format);
}

function check(value: unknown, name: string, depth: number, format: FrontmatterFormat): void {
  if (typeof value === 'string' || typeof value === 'boolean') return;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw fieldError('validation_failed', name, 'must be a finite number');
    return;
  }
  if (value === null) {
    if (format === 'toml') throw fieldError('validation_failed', name, 'TOML has no null');
    return;
  }
  if (depth > limits.depth) throw fieldError('validation_failed', name, `nested deeper than ${limits.depth} levels`);
  if (Array.isArray(value)) {
    value.forEach((item, at) => {
      check(item, `${name}.${at}`, isRecord(item) || Array.isArray(item) ? depth + 1 : depth, format);
    });
  } else if (
    isRecord(value) &&
    (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null)
  ) {
    for (const [key, member] of Object.entries(value)) {
      check(member, `${name}.${key}`, isRecord(member) || Array.isArray(member) ? depth + 1 : depth, format);
    }
  } else {
    throw fieldError('validation_failed', name, 'must be a JSON value');
  }
}

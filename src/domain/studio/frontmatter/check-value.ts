import { DomainError, fieldError } from '../../errors.ts';
import { type Frontmatter, type FrontmatterFormat, limits } from './types.ts';
import { isRecord } from './values.ts';

/** The format of a block, and the bytes its values need at least, as far as they have been looked at. */
interface Block {
  format: FrontmatterFormat;
  least: number;
}

/**
 * Refuses what no frontmatter can hold: values JSON does not have, a depth over 64, null in TOML, and more than 256 KiB, which are seen
 * before a text is made of them.
 *
 * @throws DomainError `validation_failed`, naming the key; `frontmatter_invalid` for what is too large.
 */
export function checkWritable(frontmatter: Frontmatter, format: FrontmatterFormat): void {
  check(frontmatter, 'frontmatter', 1, { format, least: 0 });
}

function check(value: unknown, name: string, depth: number, block: Block): void {
  const { format } = block;
  // Each value is written and set apart from the next one; a text may lose one line end.
  block.least += 1 + (typeof value === 'string' ? value.length - 1 : 0);
  if (block.least > limits.frontmatterBytes)
    throw new DomainError('frontmatter_invalid', `frontmatter: larger than ${limits.frontmatterBytes / 1024} KiB`);
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
      check(item, `${name}.${at}`, isRecord(item) || Array.isArray(item) ? depth + 1 : depth, block);
    });
  } else if (
    isRecord(value) &&
    (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null)
  ) {
    for (const [key, member] of Object.entries(value)) {
      block.least += key.length;
      check(member, `${name}.${key}`, isRecord(member) || Array.isArray(member) ? depth + 1 : depth, block);
    }
  } else {
    throw fieldError('validation_failed', name, 'must be a JSON value');
  }
}

import { DomainError } from '../../../errors.ts';
import type { Frontmatter } from '../types.ts';

export function editTomlSource(
  _source: string,
  _wanted: Frontmatter,
  _isDate: (p: string, v: string) => boolean,
): string {
  throw new DomainError(
    'not_editable',
    'frontmatter: toml cannot be edited in place; write the file as raw text instead',
  );
}

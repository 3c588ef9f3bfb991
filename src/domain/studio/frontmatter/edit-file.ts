import { DomainError } from '../../errors.ts';
import { withBlock, withBody } from './body.ts';
import { checkWritable } from './check-value.ts';
import { blockSource } from './create-file.ts';
import type { DateRule } from './date-rule.ts';
import { openFile, parseFile } from './parse-file.ts';
import { joinSplit, lineEnd, type Split } from './split.ts';
import { editTomlSource } from './toml/edit-toml.ts';
import type { Frontmatter, FrontmatterFormat, ParsedFile } from './types.ts';
import { deepEqual } from './values.ts';
import { editYamlSource } from './yaml/edit-yaml.ts';

export interface FileChanges {
  /** The complete object the file shall hold. Left out: unchanged. */
  frontmatter?: Frontmatter;
  body?: string;
}

export interface EditOptions {
  /** The format of the block that a file without one gets with its first key. Default `yaml`. */
  format?: Exclude<FrontmatterFormat, 'none'>;
  /** Whether the schema says that the string at this pointer is a date. Default: only what replaces a plain date is one. */
  isDate?: DateRule;
}

export interface EditedFile {
  bytes: Buffer;
  changed: boolean;
}

/**
 * Writes the wanted frontmatter and body into a file and touches nothing else: comments, quotes, key order and line ends stay
 * byte for byte. The result is read again and must be exactly what was wanted, so a wrong file is never returned.
 *
 * @throws DomainError `frontmatter_invalid` when the stored block cannot be read or the result breaks a limit, `not_editable` when
 * the change cannot be written safely, `validation_failed` for values no file can hold. The raw text can still be replaced whole.
 */
export function editFile(bytes: Uint8Array, path: string, changes: FileChanges, options: EditOptions = {}): EditedFile {
  const { parsed, split } = openFile(bytes, path);
  if (split === undefined || parsed.frontmatter === null) throw unreadable(parsed);
  const wanted = changes.frontmatter ?? parsed.frontmatter;
  checkWritable(wanted, split.format);
  const keyed = deepEqual(wanted, parsed.frontmatter) ? split : withFrontmatter(split, wanted, options);
  const edited = changes.body === undefined ? keyed : withBody(keyed, changes.body, path);
  const before = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (edited === split) return { bytes: before, changed: false };
  const after = Buffer.from(joinSplit(edited), 'utf8');
  verify(after, path, wanted, edited.body);
  return { bytes: after, changed: !after.equals(before) };
}

function withFrontmatter(split: Split, wanted: Frontmatter, options: EditOptions): Split {
  const { format = 'yaml', isDate = () => false } = options;
  const eol = lineEnd(joinSplit(split));
  if (split.format === 'none') return withBlock(split, format, blockSource(wanted, { format, isDate }, eol), eol);
  if (split.format === 'toml') return { ...split, source: editTomlSource(split.source, wanted, { eol, isDate }) };
  const json = split.format === 'json';
  return { ...split, source: editYamlSource(split.source, wanted, { eol, isDate, json }) };
}

function verify(bytes: Buffer, path: string, wanted: Frontmatter, body: string): void {
  const read = parseFile(bytes, path);
  if (read.error !== undefined) {
    throw new DomainError(
      'frontmatter_invalid',
      `frontmatter: the change would make the file unreadable: ${read.error.message}`,
    );
  }
  if (!deepEqual(read.frontmatter, wanted) || read.body !== body) {
    throw new DomainError(
      'not_editable',
      'frontmatter: the change would not read back as wanted; write the file as raw text instead',
    );
  }
}

function unreadable({ error }: ParsedFile): DomainError {
  const { message = 'cannot be read', line = 1, column = 1 } = error ?? {};
  return new DomainError('frontmatter_invalid', `frontmatter: ${message} (line ${line}, column ${column})`, {
    details: { errors: [{ field: '/frontmatter', code: 'frontmatter_invalid', message, line, column }] },
  });
}

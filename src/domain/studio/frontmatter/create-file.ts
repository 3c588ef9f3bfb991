import { DomainError } from '../../errors.ts';
import { withBlock, withBody } from './body.ts';
import { checkWritable } from './check-value.ts';
import type { DateRule } from './date-rule.ts';
import { jsonText } from './json/emit-json.ts';
import { parseFile } from './parse-file.ts';
import { joinSplit, type Split } from './split.ts';
import { tomlText } from './toml/emit-toml.ts';
import type { FileKind, Frontmatter, FrontmatterFormat } from './types.ts';
import { deepEqual, setOwn } from './values.ts';
import { mapText, type YamlManner } from './yaml/emit.ts';

export interface NewFile {
  /** `none` writes a body only and refuses frontmatter. */
  format: FrontmatterFormat;
  frontmatter: Frontmatter;
  body: string;
  /** `data`: the whole file is frontmatter and the body must be empty. Default `content`. */
  kind?: FileKind;
  /** Top-level keys in the schema's order; keys it does not name follow in the order given. */
  fieldOrder?: readonly string[];
  /** Default: every string that is a date stands plain. */
  isDate?: DateRule;
}

/**
 * The bytes of a new entry, LF throughout, with a gap between block and body.
 *
 * @throws DomainError `validation_failed` for values the format cannot hold, `frontmatter_invalid` when the result breaks a limit.
 */
export function createFile(file: NewFile): Buffer {
  const { format, body, kind = 'content' } = file;
  checkWritable(file.frontmatter, format);
  const frontmatter = ordered(file.frontmatter, file.fieldOrder ?? []);
  const path = kind === 'data' ? `new.${format}` : 'new.md';
  const empty: Split = { kind, format: 'none', bom: '', open: '', source: '', close: '', gap: '', body: '' };
  const block =
    kind === 'data' ? { ...empty, format, source: blockSource(frontmatter, file) } : content(empty, frontmatter, file);
  const bytes = Buffer.from(joinSplit(withBody(block, body, path)), 'utf8');
  const read = parseFile(bytes, path);
  if (read.error !== undefined) throw new DomainError('frontmatter_invalid', `frontmatter: ${read.error.message}`);
  if (!deepEqual(read.frontmatter, frontmatter) || read.body !== body) {
    throw new DomainError(
      'not_editable',
      'frontmatter: a value would not read back as given; write the file as raw text instead',
    );
  }
  return bytes;
}

function content(empty: Split, frontmatter: Frontmatter, file: NewFile): Split {
  if (file.format !== 'none') {
    const source = blockSource(frontmatter, file);
    return withBlock(empty, file.format, source, '\n');
  }
  if (Object.keys(frontmatter).length === 0) return empty;
  throw new DomainError(
    'not_editable',
    'frontmatter: a file of format none has no place for keys; choose yaml, toml or json',
  );
}

/** The source of a whole block, in the style new entries get. */
export function blockSource(
  frontmatter: Frontmatter,
  { format, isDate = () => true }: { format: FrontmatterFormat; isDate?: DateRule },
  eol: '\n' | '\r\n' = '\n',
): string {
  if (format === 'json') return jsonText(frontmatter, '  ', '', eol) + eol;
  if (format === 'toml') return tomlText(frontmatter, eol, true);
  const manner: YamlManner = { eol, mapStep: 2, listStep: 2, isDate };
  const text = mapText(frontmatter, 0, '', manner);
  return text === '' ? '' : text + eol;
}

function ordered(frontmatter: Frontmatter, order: readonly string[]): Frontmatter {
  const result: Frontmatter = {};
  for (const key of [...order, ...Object.keys(frontmatter)]) {
    if (Object.hasOwn(frontmatter, key) && !Object.hasOwn(result, key)) setOwn(result, key, frontmatter[key]);
  }
  return result;
}

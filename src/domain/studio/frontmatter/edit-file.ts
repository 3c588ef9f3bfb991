import { DomainError, fieldError } from '../../../kernel/errors.ts';
import { isRecord } from '../../../lib/objects.ts';
import { jsonText } from './json.ts';
import { type FileContent, type OpenedFile, openFile, parseFile } from './parse-file.ts';
import { eolOf, joinSplit, lineEnd, type Split, splitFile } from './split.ts';
import { editTomlSource } from './toml/edit-toml.ts';
import { tomlText } from './toml/toml.ts';
import {
  type DateRule,
  deepEqual,
  type FileKind,
  type Frontmatter,
  type FrontmatterFormat,
  limits,
  type ParsedFile,
  type Read,
  type Reading,
  setOwn,
} from './values.ts';
import { editYamlSource } from './yaml/edit-yaml.ts';
import { refuse } from './yaml/editing.ts';
import { mapText, type YamlStyle } from './yaml/emit.ts';
import { signBeyond } from './yaml/read-block.ts';
import { readSimpleYaml } from './yaml/read-simple.ts';

/** The format of a block, its values and the bytes they need at least, as far as they have been looked at. */
interface Block {
  format: FrontmatterFormat;
  least: number;
  values: number;
}

/**
 * Refuses what no frontmatter can hold: values JSON does not have, a depth over 64, null in TOML, and more than 256 KiB or 10,000
 * values, which are seen before a text is made of them.
 *
 * @throws DomainError `validation_failed`, naming the key; `frontmatter_invalid` for what is too large.
 */
export function checkWritable(frontmatter: Frontmatter, format: FrontmatterFormat): void {
  check(frontmatter, 'frontmatter', 1, { format, least: 0, values: -1 });
}

function check(value: unknown, name: string, depth: number, block: Block): void {
  const { format } = block;
  // Each value is written and set apart from the next one; a text may lose one line end.
  block.least += 1 + (typeof value === 'string' ? value.length - 1 : 0);
  if (block.least > limits.frontmatterBytes)
    throw new DomainError('frontmatter_invalid', `frontmatter: larger than ${limits.frontmatterBytes / 1024} KiB`);
  block.values += 1;
  if (block.values > limits.writtenValues)
    throw new DomainError(
      'frontmatter_invalid',
      `frontmatter: more than ${limits.writtenValues} values; write the file as raw text instead`,
    );
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

/**
 * Puts a body into a file by the body law: it is read back unchanged, whatever it begins with. Only a file that is wholly
 * CRLF converts the line ends of an LF-only body to its own.
 *
 * @throws DomainError `validation_failed` for a body in a data file, or one that is not valid Unicode.
 */
function withBody(split: Split, wanted: string, path: string): Split {
  if (split.kind === 'data') {
    if (wanted !== '') throw fieldError('validation_failed', 'body', 'a data file has no body');
    return split;
  }
  if (!wanted.isWellFormed())
    throw fieldError('validation_failed', 'body', 'holds half a surrogate pair, which UTF-8 cannot store');
  const whole = joinSplit(split);
  const crlf = eolOf(whole) === 'crlf';
  const body = crlf && !wanted.includes('\r\n') ? wanted.replaceAll('\n', '\r\n') : wanted;
  if (body === split.body) return split;
  const eol = crlf ? '\r\n' : '\n';
  const written: Split = { ...split, body };
  if (split.format !== 'none') {
    if (body !== '' && !/\n$/.test(split.close)) written.close = split.close + eol;
    if (split.gap === '' && /^\r?\n/.test(body)) written.gap = eol;
    return written;
  }
  const read = splitFile(joinSplit(written), path);
  const readsBack = read.format === 'none' && read.body === body && read.bom === split.bom;
  return readsBack ? written : withBlock(written, 'yaml', '', eol); // the empty block keeps the body from being read as one
}

const delimiters: Record<Exclude<FrontmatterFormat, 'none'>, string> = { yaml: '---', toml: '+++', json: '' };

/** Gives a file without a block one, with its gap. `source` ends in a line end or is empty; JSON stands without delimiters. */
function withBlock(split: Split, format: Exclude<FrontmatterFormat, 'none'>, source: string, eol: string): Split {
  const mark = delimiters[format];
  const open = mark === '' ? '' : mark + eol;
  const inner = format === 'json' ? source.trimEnd() : source; // the line end behind its `}` closes the block
  return { ...split, format, open, source: inner, close: mark + eol, gap: eol };
}

interface NewFile {
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
 * A new entry, LF throughout, with a gap between block and body.
 *
 * @throws DomainError `validation_failed` for values the format cannot hold, `frontmatter_invalid` when the result breaks a limit.
 */
export function createFile(file: NewFile): FileContent {
  const { format, body, kind = 'content' } = file;
  checkWritable(file.frontmatter, format);
  const frontmatter = ordered(file.frontmatter, file.fieldOrder ?? []);
  const path = kind === 'data' ? `new.${format}` : 'new.md';
  const empty: Split = { kind, format: 'none', bom: '', open: '', source: '', close: '', gap: '', body: '' };
  const block =
    kind === 'data' ? { ...empty, format, source: blockSource(frontmatter, file) } : content(empty, frontmatter, file);
  const bytes = Buffer.from(joinSplit(withBody(block, body, path)), 'utf8');
  const parsed = parseFile(bytes, path);
  if (parsed.error !== undefined) throw new DomainError('frontmatter_invalid', `frontmatter: ${parsed.error.message}`);
  if (!deepEqual(parsed.frontmatter, frontmatter) || parsed.body !== body) {
    throw new DomainError(
      'not_editable',
      'frontmatter: a value would not read back as given; write the file as raw text instead',
    );
  }
  return { bytes, parsed };
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
function blockSource(
  frontmatter: Frontmatter,
  { format, isDate = () => true }: { format: FrontmatterFormat; isDate?: DateRule },
  eol: '\n' | '\r\n' = '\n',
): string {
  if (format === 'json') return jsonText(frontmatter, '  ', '', eol) + eol;
  if (format === 'toml') return tomlText(frontmatter, eol, true);
  const manner: YamlStyle = { eol, mapStep: 2, listStep: 2, isDate };
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

export interface FileChanges {
  /** The complete object the file shall hold. Left out: unchanged. */
  frontmatter?: Frontmatter;
  body?: string;
}

interface EditOptions {
  /** The format of the block that a file without one gets with its first key. Default `yaml`. */
  format?: Exclude<FrontmatterFormat, 'none'>;
  /** Whether the schema says that the string at this pointer is a date. Default: only what replaces a plain date is one. */
  isDate?: DateRule;
}

interface EditedFile extends FileContent {
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
  return editOpened(openFile(bytes, path), path, changes, options);
}

/** `editFile` for a file that has been opened already. */
export function editOpened(
  { bytes, parsed, split }: OpenedFile,
  path: string,
  changes: FileChanges,
  options: EditOptions = {},
): EditedFile {
  if (split === undefined || parsed.frontmatter === null) throw unreadable(parsed);
  const wanted = changes.frontmatter ?? parsed.frontmatter;
  const before: Read = { ok: true, value: parsed.frontmatter, lossy: parsed.lossy };
  const { split: keyed, reading } = deepEqual(wanted, parsed.frontmatter)
    ? { split, reading: before }
    : withFrontmatter(split, before, wanted, options);
  const edited = changes.body === undefined ? keyed : withBody(keyed, changes.body, path);
  if (edited === split) return { bytes, parsed, changed: false };
  const after = Buffer.from(joinSplit(edited), 'utf8');
  return { bytes: after, parsed: verified(after, path, wanted, edited, reading), changed: !after.equals(bytes) };
}

function withFrontmatter(
  split: Split,
  before: Read,
  wanted: Frontmatter,
  options: EditOptions,
): { split: Split; reading?: Reading } {
  checkWritable(wanted, split.format);
  const { format = 'yaml', isDate = () => false } = options;
  const eol = lineEnd(joinSplit(split));
  if (split.format === 'none')
    return { split: withBlock(split, format, blockSource(wanted, { format, isDate }, eol), eol) };
  checkSigns(split);
  const json = split.format === 'json';
  const { source, reading } =
    split.format === 'toml'
      ? editTomlSource(split.source, before, wanted, { eol, isDate })
      : editYamlSource(split.source, wanted, { eol, isDate, json });
  return { split: { ...split, source }, reading };
}

/** An edit reads the block more than once, with its places. @throws DomainError `not_editable` for more than can be done at a time */
function checkSigns({ format, source }: Split): void {
  const most = format === 'yaml' && readSimpleYaml(source) === undefined ? limits.editedYamlSigns : limits.editedSigns;
  if (signBeyond(source, most) !== undefined)
    refuse('', `has more than ${most} lines, dashes, commas and brackets, too many to be edited by fields`);
}

/**
 * Reads what was written.
 * @param reading of the block's source, where it is known
 * @throws DomainError when it does not say what was wanted
 */
function verified(
  bytes: Buffer,
  path: string,
  wanted: Frontmatter,
  { format, source, body }: Split,
  reading: Reading | undefined,
): ParsedFile {
  const read = openFile(bytes, path, reading && { format, source, reading }).parsed;
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
  return read;
}

function unreadable({ error }: ParsedFile): DomainError {
  const { message = 'cannot be read', line = 1, column = 1 } = error ?? {};
  return new DomainError('frontmatter_invalid', `frontmatter: ${message} (line ${line}, column ${column})`, {
    details: { errors: [{ field: '/frontmatter', code: 'frontmatter_invalid', message, line, column }] },
  });
}

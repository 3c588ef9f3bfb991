import { isRecord } from '../../../lib/objects.ts';

/** `none`: a content file without a block. It can still get one; `createFile` and `editFile` say in which format. */
export type FrontmatterFormat = 'yaml' | 'toml' | 'json' | 'none';

/** `content` has a block and a body; `data` is frontmatter from the first byte to the last. */
export type FileKind = 'content' | 'data';

export type Eol = 'lf' | 'crlf' | 'mixed';

export type Frontmatter = Record<string, unknown>;

/** Why a file's frontmatter cannot be read. `line` and `column` count from 1 in the file, not in the block. */
export interface FrontmatterError {
  code: 'frontmatter_invalid';
  message: string;
  line: number;
  column: number;
}

/** One content or data file, read. Never thrown away because of a fault: `error` is set and `frontmatter` is null then. */
export interface ParsedFile {
  kind: FileKind;
  format: FrontmatterFormat;
  frontmatter: Frontmatter | null;
  body: string;
  /** Of the whole file; a file without a line end counts as `lf`. */
  eol: Eol;
  bom: boolean;
  /** Whether one blank line stands between the block and the body; it belongs to neither. */
  gap: boolean;
  /** JSON Pointers of values that JavaScript numbers cannot hold; they are given as strings. */
  lossy: string[];
  error?: FrontmatterError;
  /** The error is only that the block is a list or a single value. */
  hasNoFields?: true;
}

/** What a source says. */
export interface Read {
  ok: true;
  value: Frontmatter;
  lossy: string[];
}

/** What a format's reader found in the source text of a block. */
export type Reading =
  | Read
  | {
      ok: false;
      message: string;
      offset: number;
      /** It is sound, but a list or a single value, which has no fields. */
      hasNoFields?: true;
    };

/** A fault of the content, at an offset of the source. */
export class ContentFault extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

export const limits = {
  frontmatterBytes: 256 * 1024,
  depth: 64,
  aliasExpansions: 100,
  /** Characters that aliases repeat, to a character of the block they stand in; in a short one `fewRepeated` at least. */
  repeatedTimes: 4,
  fewRepeated: 512 * 1024,
  /** Characters of all pointers to values that JavaScript numbers cannot hold. */
  lossyCharacters: 1024 * 1024,
  /** Signs of a YAML block that the library reads. */
  yamlSigns: 12_000,
  /** Values of a frontmatter that is written. */
  writtenValues: 10_000,
  /** Signs of a block that is edited field by field. */
  editedSigns: 5_000,
  /** The same for YAML that the library reads: before, with its places, and after. */
  editedYamlSigns: 2_500,
} as const;

/** The JSON Pointers of values that JavaScript numbers cannot hold: each repeats the keys above it, which may be most of the file. */
export class LossyPointers {
  readonly found: string[] = [];
  #characters = 0;

  /** @throws ContentFault where they are too many or too long: all are needed, since an edit must not make texts of the others */
  add(pointer: string, offset = 0): void {
    this.#characters += pointer.length;
    if (this.#characters > limits.lossyCharacters)
      throw new ContentFault('too many numbers are larger than JavaScript can hold; put them in quotes', offset);
    this.found.push(pointer);
  }
}

/** Says of a string at a JSON Pointer whether it is a date that may stand without quotes. */
export type DateRule = (pointer: string, value: string) => boolean;

/** Sets an own property whatever its name: assigning to `__proto__` would change the prototype instead. */
export function setOwn(target: Frontmatter, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}

/** Equality of JSON values; the order of an object's keys does not matter, and 0 equals -0. */
export function deepEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left)) {
    return Array.isArray(right) && left.length === right.length && left.every((item, at) => deepEqual(item, right[at]));
  }
  if (!isRecord(left) || !isRecord(right)) return false;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && deepEqual(left[key], right[key]))
  );
}

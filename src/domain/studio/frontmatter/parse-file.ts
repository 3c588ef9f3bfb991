import { isUtf8 } from 'node:buffer';
import { shortened } from '../../../lib/text.ts';
import { tally } from '../../../ports/tally.ts';
import { readJson } from './json.ts';
import { eolOf, type Split, splitFile } from './split.ts';
import { readToml } from './toml/toml.ts';
import { type FrontmatterFormat, limits, type ParsedFile, type Reading } from './values.ts';
import { readYamlBlock } from './yaml/read-block.ts';

/** A file's bytes with what they say: parsed once, and handed on. */
export interface FileContent {
  bytes: Buffer;
  parsed: ParsedFile;
}

/** A file read together with the parts it was cut into; `split` is undefined when the bytes are not UTF-8. */
export interface OpenedFile extends FileContent {
  split?: Split;
}

/**
 * Reads one content file (`.md`, `.mdx`, `.markdown`, `.mdoc` …) or data file (`.yml`, `.yaml`, `.json`, `.toml`).
 *
 * @param path decides content or data by its extension; a bare extension (`md`) does as well.
 * @returns never throws for a bad file: `error` says what is wrong and where, and `frontmatter` is null.
 */
export function parseFile(bytes: Uint8Array, path: string): ParsedFile {
  return openFile(bytes, path).parsed;
}

/** The source of a block that has been read already. */
export interface KnownSource {
  format: FrontmatterFormat;
  source: string;
  reading: Reading;
}

/** Reads a file as `parseFile` does, and keeps the parts that an edit is made of. A block with the known source is not read again. */
export function openFile(bytes: Uint8Array, path: string, known?: KnownSource): OpenedFile {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  tally.parse.publish(path);
  if (!isUtf8(buffer)) return { bytes: buffer, parsed: notUtf8(buffer) };
  const text = buffer.toString('utf8');
  const split = splitFile(text, path);
  return { bytes: buffer, parsed: parseSplit(split, text, known), split };
}

function parseSplit(split: Split, text: string, known: KnownSource | undefined): ParsedFile {
  const shape = {
    kind: split.kind,
    format: split.format,
    body: split.body,
    eol: eolOf(text),
    bom: split.bom !== '',
    gap: split.gap !== '',
  };
  const reading = readSource(split, known);
  if (reading.ok) return { ...shape, frontmatter: reading.value, lossy: reading.lossy };
  const { line, column } = position(text, split.bom.length + split.open.length + reading.offset);
  return {
    ...shape,
    frontmatter: null,
    lossy: [],
    error: { code: 'frontmatter_invalid', message: shortened(reading.message, longestMessage), line, column },
    ...(reading.hasNoFields && { hasNoFields: true }),
  };
}

/** A message names the key or the anchor that is at fault, which may be most of the file. */
const longestMessage = 300;

function readSource({ format, source }: Split, known: KnownSource | undefined): Reading {
  if (format === 'none') return { ok: true, value: {}, lossy: [] };
  if (source.length * 3 > limits.frontmatterBytes && Buffer.byteLength(source) > limits.frontmatterBytes) {
    return { ok: false, message: `larger than ${limits.frontmatterBytes / 1024} KiB`, offset: 0 };
  }
  if (known?.format === format && known.source === source) return known.reading;
  if (format === 'yaml') return readYamlBlock(source);
  return format === 'toml' ? readToml(source) : readJson(source);
}

function notUtf8(bytes: Uint8Array): ParsedFile {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const { line, column } = position(text, Math.max(text.indexOf('\ufffd'), 0));
  return {
    kind: 'content',
    format: 'none',
    frontmatter: null,
    body: '',
    eol: 'lf',
    bom: false,
    gap: false,
    lossy: [],
    error: { code: 'frontmatter_invalid', message: 'the file is not UTF-8 text', line, column },
  };
}

function position(text: string, offset: number): { line: number; column: number } {
  let line = 1;
  let start = text.startsWith('\ufeff') ? 1 : 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) {
    line++;
    start = at + 1;
  }
  return { line, column: Math.max(offset - start, 0) + 1 };
}

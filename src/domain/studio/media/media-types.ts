import { fieldError } from '../../../kernel/errors.ts';
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

export type MediaKind = 'image' | 'video' | 'audio' | 'document' | 'other';

interface MediaType {
  mime: string;
  kind: MediaKind;
  /** Whether the first bytes can be of this type; absent: any text, or too many forms to tell. */
  begins?: (head: Buffer) => boolean;
}

const magic =
  (...signatures: (string | readonly [number, string])[]) =>
  (head: Buffer): boolean =>
    signatures.some((signature) => {
      const [offset, bytes] = typeof signature === 'string' ? [0, signature] : signature;
      return head.subarray(offset, offset + bytes.length).equals(Buffer.from(bytes, 'latin1'));
    });

const isText = (head: Buffer) => !head.includes(0);
const isSvg = (head: Buffer) => isText(head) && /<svg[\s/>]/i.test(head.toString('utf8'));
const brand =
  (...names: string[]) =>
  (head: Buffer) =>
    head.toString('latin1', 4, 8) === 'ftyp' && names.some((name) => head.toString('latin1', 8, 32).includes(name));
const zip = magic('PK\x03\x04', 'PK\x05\x06');
const office = 'application/vnd.openxmlformats-officedocument';

const image = (subtype: string, begins: MediaType['begins']): MediaType => ({
  mime: `image/${subtype}`,
  kind: 'image',
  ...(begins && { begins }),
});
const document = (mime: string, begins: (head: Buffer) => boolean): MediaType => ({ mime, kind: 'document', begins });
const sound = (mime: string, begins: (head: Buffer) => boolean): MediaType => ({ mime, kind: 'audio', begins });
const film = (mime: string, begins: (head: Buffer) => boolean): MediaType => ({ mime, kind: 'video', begins });
const other = (mime: string, begins: (head: Buffer) => boolean): MediaType => ({ mime, kind: 'other', begins });

/** The types that may be uploaded, by extension, each with the signature its files begin with. */
const types: Record<string, MediaType> = {
  // Without a prototype: an extension may be called `constructor`.
  __proto__: null as never,
  png: image('png', magic('\x89PNG\r\n\x1a\n')),
  jpg: image('jpeg', magic('\xff\xd8\xff')),
  jpeg: image('jpeg', magic('\xff\xd8\xff')),
  gif: image('gif', magic('GIF87a', 'GIF89a')),
  webp: image('webp', (head) => magic('RIFF')(head) && magic([8, 'WEBP'])(head)),
  avif: image('avif', brand('avif', 'avis', 'mif1')),
  svg: image('svg+xml', isSvg),
  ico: image('x-icon', magic('\0\0\x01\0')),
  bmp: image('bmp', magic('BM')),
  tif: image('tiff', magic('II*\0', 'MM\0*')),
  tiff: image('tiff', magic('II*\0', 'MM\0*')),
  mp4: film('video/mp4', brand('isom', 'mp4', 'avc1', 'iso', 'M4V', 'dash')),
  m4v: film('video/x-m4v', brand('M4V', 'mp4', 'isom')),
  mov: film('video/quicktime', brand('qt')),
  webm: film('video/webm', magic('\x1a\x45\xdf\xa3')),
  ogv: film('video/ogg', magic('OggS')),
  mp3: sound('audio/mpeg', (head) => magic('ID3')(head) || (head[0] === 0xff && ((head[1] ?? 0) & 0xe0) === 0xe0)),
  m4a: sound('audio/mp4', brand('M4A', 'mp4', 'isom')),
  ogg: sound('audio/ogg', magic('OggS')),
  oga: sound('audio/ogg', magic('OggS')),
  wav: sound('audio/wav', (head) => magic('RIFF')(head) && magic([8, 'WAVE'])(head)),
  flac: sound('audio/flac', magic('fLaC')),
  woff: other('font/woff', magic('wOFF')),
  woff2: other('font/woff2', magic('wOF2')),
  ttf: other('font/ttf', magic('\0\x01\0\0', 'true')),
  otf: other('font/otf', magic('OTTO')),
  pdf: document('application/pdf', magic('%PDF-')),
  docx: document(`${office}.wordprocessingml.document`, zip),
  xlsx: document(`${office}.spreadsheetml.sheet`, zip),
  pptx: document(`${office}.presentationml.presentation`, zip),
  odt: document('application/vnd.oasis.opendocument.text', zip),
  ods: document('application/vnd.oasis.opendocument.spreadsheet', zip),
  txt: document('text/plain', isText),
  csv: document('text/csv', isText),
  vtt: document('text/vtt', isText),
  srt: document('application/x-subrip', isText),
  zip: other('application/zip', zip),
  gz: other('application/gzip', magic('\x1f\x8b')),
};

export const mediaExtensions: readonly string[] = Object.keys(types);

/** In lower case, without the dot; '' for none. */
export const extensionOf = (path: string) => /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';

/** What may be uploaded under a name; null for every other extension. */
export const mediaTypeOf = (path: string): { mime: string; kind: MediaKind } | null => types[extensionOf(path)] ?? null;

/**
 * Holds a file's first bytes against its name.
 * @param head the first 4 KiB, or all when shorter; null to judge by the name only
 * @returns what is wrong, with the path or the content; null when the type is allowed and the bytes are of it
 */
export function mediaTypeProblem(
  path: string,
  head: Buffer | null,
): { of: 'path' | 'content'; problem: string } | null {
  const extension = extensionOf(path);
  const type = types[extension];
  if (!type) {
    const allowed = Object.keys(types).join(', ');
    const what = extension === '' ? 'no extension' : `the extension .${extension}`;
    return { of: 'path', problem: `has ${what} and cannot be uploaded; allowed are ${allowed}` };
  }
  if (head === null || !type.begins || type.begins(head)) return null;
  return { of: 'content', problem: `is not a file of type ${type.mime}, as its name says` };
}

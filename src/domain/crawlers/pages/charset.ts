const space = '\\t\\n\\f\\r ';
const comment = /<!--(?:-?>|[\s\S]*?(?:-->|$))/y;
const tagName = new RegExp(`<(/?[a-z][^${space}/>]*)`, 'iy');
const other = /<[!/?][^>]*>/y;
const attribute = new RegExp(
  `[${space}/]*([^${space}/>][^${space}/>=]*)(?:[${space}]*=[${space}]*(?:"([^"]*)"|'([^']*)'|([^${space}>]*)))?`,
  'y',
);

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** The attributes of a tag from `at` on, the first of a name, and where they end. */
function attributesAt(text: string, at: number): { attributes: Map<string, string>; end: number } {
  const attributes = new Map<string, string>();
  let end = at;
  for (let found = matchAt(attribute, text, end); found; found = matchAt(attribute, text, end)) {
    end = attribute.lastIndex;
    const [, name = '', double, single, bare] = found;
    const key = name.toLowerCase();
    if (!attributes.has(key)) attributes.set(key, double ?? single ?? bare ?? '');
  }
  return { attributes, end };
}

const inContent = /charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r ;]+))/i;

function labelOf(attributes: ReadonlyMap<string, string>): string | null {
  const charset = attributes.get('charset');
  if (charset !== undefined) return charset;
  if (attributes.get('http-equiv')?.toLowerCase() !== 'content-type') return null;
  const [, double, single, bare] = inContent.exec(attributes.get('content') ?? '') ?? [];
  return double ?? single ?? bare ?? null;
}

/**
 * Looks for the encoding a `meta` names, before the page is read as text (HTML 13.2.3.2, "prescan").
 * @param beginning the first 1,024 bytes, a character each
 */
function prescan(beginning: string): string | null {
  for (let at = beginning.indexOf('<'); at !== -1; at = beginning.indexOf('<', at)) {
    const skipped = matchAt(comment, beginning, at);
    const tag = skipped ? null : matchAt(tagName, beginning, at);
    if (tag) {
      const { attributes, end } = attributesAt(beginning, tagName.lastIndex);
      // A tag that goes on beyond does not count: half a label is another one.
      if (end >= beginning.length) return null;
      const label = tag[1]?.toLowerCase() === 'meta' ? labelOf(attributes) : null;
      if (label !== null) return label;
      at = end;
    } else {
      at += skipped?.[0].length ?? matchAt(other, beginning, at)?.[0].length ?? 1;
    }
  }
  return null;
}

/** Bytes that begin images (WHATWG MIME Sniffing 6.1): BMP, GIF, ICO, JPEG, PNG, and RIFF for WebP. */
const imageMarks = ['424d', '474946383761', '474946383961', '00000100', 'ffd8ff', '89504e470d0a1a0a', '52494646'];

/** Tags that begin a document (WHATWG MIME Sniffing 7.1). */
const htmlMark =
  /^[\t\n\f\r ]*(?:<\?xml[^>]*>[\t\n\f\r ]*)?<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\t\n\f\r />])/i;

/** Whether a body is an image, whatever its type says. @param bytes its beginning */
export function isImage(bytes: Uint8Array): boolean {
  const beginning = Buffer.from(bytes.subarray(0, 8)).toString('hex');
  return imageMarks.some((mark) => beginning.startsWith(mark));
}

/** Whether a text begins as HTML does. */
export const looksLikeHtml = (text: string): boolean => htmlMark.test(text.slice(0, 1_024));

/** Kinds of text that say their encoding in different ways. */
type TextKind = 'html' | 'xhtml' | 'xml' | 'css' | 'json';

/** Where the answer and the text say nothing. */
const fallbacks: Record<TextKind, string> = {
  html: 'windows-1252',
  xhtml: 'windows-1252',
  xml: 'utf-8',
  css: 'utf-8',
  json: 'utf-8',
};

/** The name of an encoding by any of its labels (WHATWG Encoding 4.2); null when there is no such. */
function encodingOf(label: string | null | undefined): string | null {
  if (!label) return null;
  try {
    return new TextDecoder(label.trim()).encoding;
  } catch {
    return null;
  }
}

function bomOf([first, second, third]: Uint8Array): string | null {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : null;
}

const parameter = /;[\t ]*charset[\t ]*=[\t ]*(?:"([^"]*)"|'([^']*)'|([^;\s]*))/i;

function labelOfType(contentType: string | null): string | undefined {
  const [, double, single, bare] = parameter.exec(contentType ?? '') ?? [];
  return double ?? single ?? bare;
}

const xmlDeclaration = /^<\?xml[\t\n\r ][^>]*?encoding[\t\n\r ]*=[\t\n\r ]*["']([^"']*)["']/;
const cssRule = /^@charset "([^"]*)";/;

/** What the text itself says within its first 1,024 bytes. */
function labelInText(bytes: Uint8Array, kind: TextKind): string | null {
  const beginning = Buffer.from(bytes.subarray(0, 1_024)).toString('latin1');
  if (kind === 'css') return cssRule.exec(beginning)?.[1] ?? null;
  if (kind === 'json') return null;
  const declared = kind === 'html' ? null : (xmlDeclaration.exec(beginning)?.[1] ?? null);
  return encodingOf(declared) !== null || kind === 'xml' ? declared : prescan(beginning);
}

/** Text whose beginning could be read byte by byte is not UTF-16, whatever it says of itself (HTML 13.2.3.2). */
const readable = (encoding: string | null) => (encoding?.startsWith('utf-16') ? 'utf-8' : encoding);

/**
 * The encoding a text is read in: byte order mark, `Content-Type`, what the text says of itself, the kind's default. Unknown labels
 * count as absent.
 */
export function charsetOf(bytes: Uint8Array, contentType: string | null, kind: TextKind): string {
  if (kind === 'json') return bomOf(bytes) ?? 'utf-8';
  return (
    bomOf(bytes) ??
    encodingOf(labelOfType(contentType)) ??
    readable(encodingOf(labelInText(bytes, kind))) ??
    fallbacks[kind]
  );
}

/** Reads bytes in an encoding; what is wrong in them becomes U+FFFD, and a byte order mark goes. */
export const decodeText = (bytes: Uint8Array, charset: string): string => new TextDecoder(charset).decode(bytes);

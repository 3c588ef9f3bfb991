import { prescan } from './prescan.ts';

/** Kinds of text that say their encoding in different ways. */
export type TextKind = 'html' | 'xhtml' | 'xml' | 'css' | 'json';

/** Where the answer and the text say nothing. */
const fallbacks: Record<TextKind, string> = {
  html: 'windows-1252',
  xhtml: 'windows-1252',
  xml: 'utf-8',
  css: 'utf-8',
  json: 'utf-8',
};

/** The name of an encoding by any of its labels (WHATWG Encoding 4.2); null when there is no such. */
export function encodingOf(label: string | null | undefined): string | null {
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
 * The encoding a text is read in: byte order mark, `Content-Type`, what the text says of itself, the kind's own. Labels nobody knows
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

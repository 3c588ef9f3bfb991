import { createHash } from 'node:crypto';
import { isGitDisguise, nameProblem } from '../../../studio/path-rules.ts';

/** Longest segment, bytes of UTF-8. */
const longest = 200;

/** First digits of the SHA-256 of a text. */
export const shortHash = (text: string, digits = 8): string =>
  createHash('sha256').update(text).digest('hex').slice(0, digits);

const encoded = (text: string) =>
  [...Buffer.from(text, 'utf8')].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const unsafe = /[\u0000-\u001f\u007f-\u009f<>:"|?*\\/]/gu;
/** Files that change how git treats the others. */
const gitFile = /^\.(?:gitmodules|gitattributes|gitignore|lfsconfig)$/i;

/** Decodes what is UTF-8; anything else stays as it was written. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** What a segment ends with from its last dot on, when that is short enough for an extension; else ''. */
export function extensionOf(segment: string): string {
  const dot = segment.lastIndexOf('.');
  return dot > 0 && segment.length - dot <= 16 ? segment.slice(dot) : '';
}

/** Puts something before the extension of a name. */
export function beforeExtension(name: string, mark: string): string {
  const extension = extensionOf(name);
  return name.slice(0, name.length - extension.length) + mark + extension;
}

function shortened(segment: string): string {
  if (Buffer.byteLength(segment) <= longest) return segment;
  const end = `~${shortHash(segment)}${extensionOf(segment)}`;
  let kept = '';
  for (const character of segment) {
    if (Buffer.byteLength(kept + character + end) > longest) break;
    kept += character;
  }
  return kept + end;
}

/**
 * A segment of a URL's path as the name of a file or a directory on every system: decoded where that is safe, percent-encoded where a
 * character or the whole name means something else there, at most 200 bytes.
 */
export function safeSegment(segment: string): string {
  const plain = decoded(segment).normalize('NFC');
  if (plain === '') return '%2F';
  const name = plain.replace(unsafe, encoded);
  if (isGitDisguise(name)) return shortened(encoded(name));
  const isSpecial = /^\.{1,2}$/.test(name) || gitFile.test(name) || (nameProblem(name)?.includes('device') ?? false);
  const first = isSpecial ? encoded([...name][0] ?? '') + [...name].slice(1).join('') : name;
  return shortened(first.replace(/[. ]$/u, encoded));
}

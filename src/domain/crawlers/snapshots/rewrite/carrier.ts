/** `base` is the address relative links are resolved against; all others lead somewhere. */
type LinkRole = 'base' | 'link';

/**
 * Says what a link becomes.
 * @param link as it was written, in real characters
 * @param base what it is resolved against
 * @returns ASCII; null when it stays as it is
 */
export type LinkMapper = (link: string, base: URL, role: LinkRole) => string | null;

/** A longer link is none of a crawl's, and stays; characters. */
const longestLink = 4_096;
export const isTooLong = (link: string): boolean => link.length > longestLink;

/** A document or sheet whose links are rewritten. */
export interface Rewriting {
  /** Its own address. */
  url: URL;
  /** Label of its encoding (WHATWG Encoding); null: not known. */
  charset: string | null;
  /** It becomes UTF-8 even where it need not. */
  toUtf8?: boolean;
  map: LinkMapper;
}

/**
 * Text that carries bytes: a character for each byte of an encoding in which every byte below 0x80 that means something to HTML is that very
 * character. What is not touched goes out as it came, bytes that are wrong in their encoding included.
 */
export interface Carrier {
  /** Chunks of bytes as chunks of carrying text. */
  read(content: AsyncIterable<Uint8Array>): AsyncIterable<string>;
  /** Real characters of a piece of carrying text. */
  decode(text: string): string;
  /** Bytes of carrying text. */
  encode(text: string): Buffer;
  /** The encoding of what `encode` gives, when it is another one than that of the content. */
  becomes: 'utf-8' | null;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is what is meant
const ascii = /^[\u0000-\u007f]*$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all bytes are what is meant
const bytes = /^[\u0000-\u00ff]*$/;

/** Encodings in which a byte of a quote or a bracket may be part of something else. */
const opaque = new Set(['utf-16le', 'utf-16be', 'iso-2022-jp', 'replacement']);

type Decoder = InstanceType<typeof TextDecoder>;

function decoderOf(label: string | null): Decoder {
  try {
    return new TextDecoder(label ?? 'utf-8');
  } catch {
    return new TextDecoder();
  }
}

function byteCarrier(decoder: Decoder): Carrier {
  return {
    becomes: null,
    async *read(content) {
      for await (const chunk of content) yield Buffer.from(chunk).toString('latin1');
    },
    // Escapes can name characters that no byte stands for: such text is real already.
    decode: (text) => (ascii.test(text) || !bytes.test(text) ? text : decoder.decode(Buffer.from(text, 'latin1'))),
    encode: (text) => Buffer.from(text, 'latin1'),
  };
}

/**
 * Content in an opaque encoding becomes UTF-8. Its byte order mark has precedence over declarations in the content and over the
 * `Content-Type` it is served with (HTML 13.2.3.2, CSS Syntax 3.2).
 */
function textCarrier(label: string): Carrier {
  return {
    becomes: 'utf-8',
    async *read(content) {
      const decoder = new TextDecoder(label);
      yield '\ufeff';
      for await (const chunk of content) yield decoder.decode(chunk, { stream: true });
      yield decoder.decode();
    },
    decode: (text) => text,
    encode: (text) => Buffer.from(text, 'utf8'),
  };
}

/**
 * How content in an encoding is carried.
 * @param charset a label; null, or an unknown one, is UTF-8
 * @param toUtf8 it becomes UTF-8 even where it need not
 */
export function carrierFor(charset: string | null, toUtf8 = false): Carrier {
  const decoder = decoderOf(charset);
  const { encoding } = decoder;
  return opaque.has(encoding) || (toUtf8 && encoding !== 'utf-8') ? textCarrier(encoding) : byteCarrier(decoder);
}

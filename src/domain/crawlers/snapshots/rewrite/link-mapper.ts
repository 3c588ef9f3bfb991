/** `base` is the address relative links are resolved against; all others lead somewhere. */
export type LinkRole = 'base' | 'link';

/**
 * Says what a link becomes.
 * @param link as it was written, in real characters
 * @param base what it is resolved against
 * @returns ASCII; null when it stays as it is
 */
export type LinkMapper = (link: string, base: URL, role: LinkRole) => string | null;

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

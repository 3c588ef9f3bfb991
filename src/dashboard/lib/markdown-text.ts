/** Text as Markdown has to have it. */

/** A link's target (CommonMark 6.3). */
export const linkTarget = (address: string): string =>
  /[\s()<>]/.test(address) ? `<${address.replace(/[<>]/g, encodeURIComponent)}>` : address;

/** Text between the brackets of a link or picture. */
export const linkLabel = (text: string): string => text.replace(/[[\]\\]/g, '\\$&');

/** The alternative text of a picture; null for another text. */
export const pictureLabel = (markdown: string): string | null =>
  /^!\[((?:\\.|[^\]\\])*)\]\([^)]*\)$/s.exec(markdown)?.[1]?.replace(/\\(.)/g, '$1') ?? null;

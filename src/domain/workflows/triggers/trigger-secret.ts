import { checksum62, random62 } from '../../keys/base62.ts';

const letters = 40;

/**
 * A new secret of a webhook trigger: `whk_`, 40 random characters of base62 (238 bits) and their checksum. It holds nothing that a URL would
 * escape, and its prefix is not one that clients take for base64.
 */
export function newTriggerSecret(): string {
  const text = `whk_${random62(letters)}`;
  return `${text}${checksum62(text)}`;
}

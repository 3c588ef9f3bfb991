/** Keys of links, one after the other, each the first eight bytes of the hash of its URL: enough to tell the URLs of one run apart. */
export type LinkKeys = Uint8Array;

export const keyBytes = 8;
export const noKeys: LinkKeys = new Uint8Array();

/** @param hash of a URL */
export const linkKey = (hash: Uint8Array): bigint => keysIn(hash)(0);

/** Keys by their place, as signed numbers. */
export function keysIn(keys: Uint8Array): (place: number) => bigint {
  const view = new DataView(keys.buffer, keys.byteOffset, keys.byteLength);
  return (place) => view.getBigInt64(place * keyBytes);
}

export function packKeys(keys: Iterable<bigint>): LinkKeys {
  const all = [...keys];
  const packed = Buffer.allocUnsafe(all.length * keyBytes);
  for (const [index, key] of all.entries()) packed.writeBigInt64BE(key, index * keyBytes);
  return packed;
}

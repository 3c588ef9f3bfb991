/** Keys of links, one after the other, each the first eight bytes of the hash of its URL: enough to distinguish the URLs of one run. */
export type LinkKeys = Uint8Array;

export const keyBytes = 8;
export const noKeys: LinkKeys = new Uint8Array();

/** A key as two signed numbers of 32 bits, which are compared without an allocation. */
export interface LinkKey {
  high: number;
  low: number;
}

/** Reads keys: the halves of one are four bytes each, the high one first. */
export const viewOf = (keys: Uint8Array): DataView => new DataView(keys.buffer, keys.byteOffset, keys.byteLength);

/** @param hash of a URL */
export function linkKey(hash: Uint8Array): LinkKey {
  const view = viewOf(hash);
  return { high: view.getInt32(0), low: view.getInt32(4) };
}

export function packKeys(keys: Iterable<LinkKey>): LinkKeys {
  const all = [...keys];
  const packed = Buffer.allocUnsafe(all.length * keyBytes);
  let at = 0;
  for (const { high, low } of all) at = packed.writeInt32BE(low, packed.writeInt32BE(high, at));
  return packed;
}

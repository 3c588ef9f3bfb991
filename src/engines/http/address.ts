import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.parse>;

/** A range of addresses: its first address and prefix length. */
export type Cidr = [Address, number];

/**
 * Parses ranges such as `10.0.0.0/8`, `fd00::/8` or a single address.
 * @throws Error naming the entry that is none.
 */
export function parseCidrs(entries: readonly string[]): Cidr[] {
  return entries.map((entry) => {
    try {
      if (entry.includes('/')) return ipaddr.parseCIDR(entry);
      const address = ipaddr.process(entry);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    } catch (cause) {
      throw new Error(`"${entry}" is not an address range such as 10.0.0.0/8`, { cause });
    }
  });
}

/** Globally assigned IPv6 space (IANA, RFC 4291 section 2.4); ipaddr.js calls the rest of the space unicast as well. */
const globalUnicast = parseCidrs(['2000::/3']);

/**
 * Where an address lies: `unicast` for one on the public internet, otherwise the name of its special range (`private`,
 * `loopback`, `linkLocal`, `6to4`, `teredo`, …). An IPv4-mapped address (`::ffff:127.0.0.1`) counts as the IPv4 address in it; a
 * scoped one (`fe80::1%eth0`, RFC 4007) is `scoped`, since what it reaches depends on the machine; not an address: `invalid`.
 */
export function rangeOf(address: string): string {
  if (address.includes('%')) return 'scoped';
  if (!ipaddr.isValid(address)) return 'invalid';
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  // `::127.0.0.1` and unassigned blocks have no name in ipaddr.js.
  if (range === 'unicast' && parsed.kind() === 'ipv6' && !isInside(address, globalUnicast)) return 'reserved';
  return range;
}

/** Whether an address, IPv4-mapped ones as IPv4, lies in one of the ranges. */
export function isInside(address: string, cidrs: readonly Cidr[]): boolean {
  if (address.includes('%') || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return cidrs.some(([start, bits]) => parsed.kind() === start.kind() && parsed.match(start, bits));
}

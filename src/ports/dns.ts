/** Result of a TXT lookup. `unreachable`: no server answered, so nothing is known about the name. */
export type TxtAnswer =
  | { outcome: 'records'; texts: string[] }
  | { outcome: 'absent' }
  | { outcome: 'unreachable'; reason: string };

/** Looks up names in DNS. */
export interface DnsResolver {
  /** The TXT records of a name, the strings of each joined (RFC 7208 3.3); nothing is remembered between two calls. */
  txt(name: string): Promise<TxtAnswer>;
}

/** What asking for the texts of a name gave. `unreachable`: nobody could say, which tells nothing about the name. */
export type TxtAnswer =
  | { outcome: 'records'; texts: string[] }
  | { outcome: 'absent' }
  | { outcome: 'unreachable'; reason: string };

/** Asks DNS. */
export interface DnsResolver {
  /** The TXT records of a name, the strings of each joined (RFC 7208 3.3); nothing is remembered between two calls. */
  txt(name: string): Promise<TxtAnswer>;
}

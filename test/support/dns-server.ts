import { createSocket } from 'node:dgram';
import { type AddressInfo, isIPv6 } from 'node:net';
import { type Answer, AUTHORITATIVE_ANSWER, decode, encode } from 'dns-packet';

/** A DNS server on loopback whose zone tests write. */
export interface DnsServer {
  /** `127.0.0.1:port`. */
  address: string;
  /** TXT records by lower-case name: each a list of strings; `servfail` and `silent` are faults of the server. Other names do not exist. */
  zone: Map<string, string[][] | 'servfail' | 'silent'>;
  /** Addresses of either family by lower-case name, likewise. */
  addresses: Map<string, string[] | 'servfail' | 'silent'>;
  /** Names that were queried. */
  requested: string[];
  close(): Promise<void>;
}

const servfail = 2;
const nxdomain = 3;

export async function startDnsServer(): Promise<DnsServer> {
  const zone: DnsServer['zone'] = new Map();
  const addresses: DnsServer['addresses'] = new Map();
  const requested: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (message, { address, port }) => {
    const { id, questions = [] } = decode(message);
    const [question] = questions;
    const name = question?.name.toLowerCase() ?? '';
    requested.push(name);
    const found = question?.type === 'TXT' ? zone.get(name) : addresses.get(name);
    if (found === 'silent') return;
    const rcode = found === 'servfail' ? servfail : found === undefined ? nxdomain : 0;
    const records = Array.isArray(found) ? found : [];
    const answers = records.flatMap((record): Answer[] => {
      if (typeof record !== 'string') return [{ type: 'TXT', name, ttl: 0, data: record }];
      const type = isIPv6(record) ? 'AAAA' : 'A';
      return type === question?.type ? [{ type, name, ttl: 0, data: record }] : [];
    });
    const answer = encode({ id: id ?? 0, type: 'response', flags: AUTHORITATIVE_ANSWER | rcode, questions, answers });
    socket.send(answer, port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const { port } = socket.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    zone,
    addresses,
    requested,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

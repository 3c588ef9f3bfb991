import type { Services } from '../../services.ts';
import { codingOf, inflate } from '../door/body/inflate.ts';
import { type BodyValue, bodyValueOf, utf8Text } from './body-value.ts';
import type { Delivery } from './delivery.entity.ts';
import { unpackBody } from './kept-body.ts';

/** Bodies up to so many bytes are given as text beside their value. */
const maxRaw = 1024 * 1024;
const eventHeaders = ['x-github-event', 'x-gitea-event', 'x-gitlab-event'];

/** What an execution that a webhook has started gets as its input. */
export interface DeliveryInput extends BodyValue {
  /** The bytes that were signed, as text. */
  raw: string | null;
  raw_size: number;
  raw_sha256: string;
  method: string;
  query: Record<string, string | string[]>;
  headers: Record<string, string>;
  event: string | null;
  delivery_id: string | null;
  auth: { mode: Delivery['auth_mode']; secret_version: number };
  trigger: { id: string; type: 'webhook' };
}

type Needs = Pick<Services, 'blobs' | 'settings'>;

/** The bytes of a delivery as they came; null when they are not kept any more. */
export async function bytesOfDelivery({ blobs }: Pick<Services, 'blobs'>, delivery: Delivery): Promise<Buffer | null> {
  if (delivery.body != null) return unpackBody(delivery.body, delivery.raw_size);
  if (delivery.body_sha256 != null) {
    const pieces: Buffer[] = [];
    for await (const piece of blobs.read(delivery.body_sha256)) pieces.push(piece);
    return Buffer.concat(pieces);
  }
  return delivery.raw_size === 0 ? Buffer.alloc(0) : null;
}

async function decodedValue({ settings }: Needs, { headers }: Delivery, raw: Buffer): Promise<BodyValue> {
  const type = headers['content-type'];
  const coding = codingOf(headers['content-encoding']);
  if (coding == null) return bodyValueOf(raw, type);
  const pieces: Uint8Array[] = [];
  const found = await inflate({ head: raw, chunks: [raw] }, coding, settings.door.body_bytes, (piece) =>
    pieces.push(piece),
  );
  if (found === 'whole') return bodyValueOf(Buffer.concat(pieces), type);
  const message = found === 'corrupt' ? `is not valid ${coding}` : 'is too large when it is inflated';
  return { body: null, body_error: { message, position: null } };
}

/** The input of an execution, derived from the delivery that started it: it is stored nowhere else. */
export async function inputOfDelivery(services: Needs, delivery: Delivery): Promise<DeliveryInput> {
  const { headers, raw_size, raw_sha256, method, query, trigger_id, dedup_key, auth_mode, secret_version } = delivery;
  const raw = await bytesOfDelivery(services, delivery);
  const value: BodyValue =
    raw === null
      ? { body: null, body_error: { message: 'is not kept any more', position: null } }
      : await decodedValue(services, delivery, raw);
  return {
    ...value,
    raw: raw === null || raw.length > maxRaw ? null : utf8Text(raw, { ignoreBOM: true }),
    raw_size,
    raw_sha256,
    method,
    query,
    headers,
    event: eventHeaders.map((name) => headers[name]).find((event) => event !== undefined) ?? null,
    delivery_id: dedup_key ?? null,
    auth: { mode: auth_mode, secret_version },
    trigger: { id: trigger_id, type: 'webhook' },
  };
}

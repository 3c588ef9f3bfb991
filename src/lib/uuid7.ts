import { randomUUID } from 'node:crypto';

/** A UUID version 7 (RFC 9562 5.7): milliseconds since 1970 first, so ids sort by time. Node keeps random bytes for UUIDs ready. */
export function uuid7(at: Date): string {
  const time = at.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

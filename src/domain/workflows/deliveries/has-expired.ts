import type { Delivery } from './delivery.entity.ts';

/** Whether the bytes of a delivery are not kept any more. */
export const hasExpired = ({ body, body_sha256, raw_size }: Delivery): boolean =>
  body == null && body_sha256 == null && raw_size > 0;

import type { DoorTrigger } from '../../triggers/trigger-cache.ts';

/** A proved call, ready to be stored. Its ids are made once, so that to store it twice is not possible. */
export interface ProvedCall {
  delivery_id: string;
  execution_id: string;
  trigger: DoorTrigger;
  /** Of the secret that proved it. */
  secret_version: number;
  method: string;
  headers: Record<string, string>;
  query: Record<string, string | string[]>;
  /** Null: it is in the blob store under its hash. */
  body: Uint8Array | null;
  raw_size: number;
  raw_sha256: string;
  dedup_key: string | null;
  received_at: Date;
}

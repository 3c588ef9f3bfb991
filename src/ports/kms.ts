/** A data key under a key-encryption key (KEK): only the KEK's provider can open it again. */
export interface WrappedKey {
  /** Opaque bytes; they name the KEK themselves. */
  blob: Uint8Array;
  kek_id: string;
}

/** `active` wraps new keys, `inactive` still opens old ones, `disabled` does neither. */
export type KekState = 'active' | 'inactive' | 'disabled';

export interface KekInfo {
  id: string;
  state: KekState;
  created_at: Date | null;
}

export interface KmsDescription {
  /** `local`, `aws`. */
  provider: string;
  /** Where the keys live, for people: a file, a key's ARN. */
  location: string;
  keys: KekInfo[];
}

export type KmsHealth = { ok: true } | { ok: false; problem: string };

/**
 * Why a key could not be wrapped or opened: its KEK does not exist, may not be used, the bytes or the context differ from what
 * were wrapped, or the provider does not answer, in which case alone trying again helps.
 */
export type KeyFault = 'missing_key' | 'disabled_key' | 'not_authentic' | 'unavailable';

export class KeyError extends Error {
  readonly fault: KeyFault;
  readonly kek_id: string | null;

  constructor(
    fault: KeyFault,
    message: string,
    { kek_id = null, cause }: { kek_id?: string | null; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'KeyError';
    this.fault = fault;
    this.kek_id = kek_id;
  }
}

/**
 * The provider of key-encryption keys. `context` is bound to the wrapped key: it is not secret, is not stored in the blob, and must
 * be the same when the key is opened. Everything rejects with `KeyError`.
 */
export interface Kms {
  /** Wraps a key of 1 to 4,096 bytes under the active KEK. */
  wrap(key: Uint8Array, context: string): Promise<WrappedKey>;
  /** The key in memory of its own; the caller wipes it. */
  unwrap(blob: Uint8Array, context: string): Promise<Uint8Array>;
  /** The same key under the KEK that is active now. */
  rewrap(blob: Uint8Array, context: string): Promise<WrappedKey>;
  /** The provider's KEKs; of a provider that cannot list them, the active one and those in `named` that exist. */
  describe(named?: readonly string[]): Promise<KmsDescription>;
  /** Whether a key could be wrapped now; never rejects. */
  health(): Promise<KmsHealth>;
}

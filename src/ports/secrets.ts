/** What kinds of secrets are stored; a ciphertext moved from one to another does not open. */
export type SecretPurpose =
  | 'workflow.trigger'
  | 'workflow.secret'
  | 'crawler.headers'
  | 'crawler.cookies'
  | 'crawler.webhook_auth'
  | 'crawler.webhook_secret'
  | 'environment.variable'
  | 'deploy.hook'
  | 'upstream.git'
  | 'assistant.key'
  | 'oidc.client';

/**
 * Secrets at rest: AES-256-GCM under a data key per organisation. Both reject with `DomainError('unavailable')`, whose
 * `details.reason` is a `KeyFault`: `unavailable` passes, the others mean that this secret cannot be read.
 */
export interface Secrets {
  encrypt(
    organizationId: number,
    purpose: SecretPurpose,
    record: string | number,
    version: number,
    plaintext: string,
  ): Promise<string>;
  decrypt(
    organizationId: number,
    purpose: SecretPurpose,
    record: string | number,
    version: number,
    ciphertext: string,
  ): Promise<string>;
  /** Makes a new data key for what is encrypted from now on; other processes follow within five minutes. */
  rotate(organizationId: number): Promise<void>;
  /** Wipes the keys in memory. */
  close(): void;
}

import { pipeline, Readable, Transform } from 'node:stream';
import {
  DecryptCommand,
  DescribeKeyCommand,
  EncryptCommand,
  KeyState,
  KMSClient,
  KMSServiceException,
  ReEncryptCommand,
} from '@aws-sdk/client-kms';
import { type KekInfo, type KekState, KeyError, type KeyFault, type Kms } from '../../ports/kms.ts';

export interface AwsKmsOptions {
  /** Id, ARN or alias of a symmetric key; under an alias, the key it names at the moment is the active one. */
  key: string;
  /** Another endpoint than AWS's own. */
  url?: string;
  /** Milliseconds one try may take; default: ten seconds. */
  patience?: number;
}

const seconds = 1_000;

/** Largest answer of the service, bytes: a data key and what is said of it take a few hundred. */
const largest = 64 * 1024;

/** An answer that ends with an error when it goes beyond what one can need. */
function bounded(answer: Readable): Readable {
  let size = 0;
  const bound = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      if (size > largest) done(new KeyError('unavailable', `AWS KMS: the answer is larger than ${largest} bytes`));
      else done(null, chunk);
    },
  });
  return pipeline(answer, bound, () => {});
}

/** What the service's refusals mean; everything else is a matter of the network, of throttling or of rights, and may pass. */
const faults: Record<string, KeyFault> = {
  NotFoundException: 'missing_key',
  DisabledException: 'disabled_key',
  KMSInvalidStateException: 'disabled_key',
  InvalidCiphertextException: 'not_authentic',
  IncorrectKeyException: 'not_authentic',
  ValidationException: 'not_authentic',
};

function asKeyError(error: unknown): KeyError {
  if (error instanceof KeyError) return error;
  const fault = error instanceof KMSServiceException ? (faults[error.name] ?? 'unavailable') : 'unavailable';
  const message = error instanceof Error ? error.message || error.name : String(error);
  return new KeyError(fault, `AWS KMS: ${message}`, { cause: error });
}

async function withKeyErrors<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw asKeyError(error);
  }
}

/** `arn:aws:kms:<region>:…` names its region; anything else leaves it to the standard settings of the client. */
const regionOf = (key: string): string | undefined => /^arn:[^:]+:kms:([^:]+):/.exec(key)?.[1];

/** Binds a wrapped key to what it is for; the service shows it in its own log. */
const boundTo = (context: string) => ({ portico: context });

/**
 * Key-encryption keys in AWS KMS, which never leave it. Credentials come by the standard chain of the client; throttled and failed calls are
 * tried again with jitter, five times in all.
 */
export function openAwsKms({ key, url, patience = 10 * seconds }: AwsKmsOptions): Kms & { close(): void } {
  const region = regionOf(key);
  const client = new KMSClient({
    ...(url !== undefined && { endpoint: url }),
    ...(region !== undefined && { region }),
    maxAttempts: 5,
    requestHandler: {
      connectionTimeout: 3 * seconds,
      requestTimeout: patience,
      // Without it the client only warns, and goes on waiting.
      throwOnRequestTimeout: true,
      // Of an answer that has begun and does not go on.
      socketTimeout: patience,
    },
  });
  client.middlewareStack.add(
    (next) => async (call) => {
      const result = await next(call);
      const answer = result.response as { body?: unknown };
      if (answer.body instanceof Readable) answer.body = bounded(answer.body);
      return result;
    },
    { name: 'boundAnswers', step: 'deserialize', priority: 'low' },
  );

  async function infoOf(id: string): Promise<KekInfo & { isUsable: boolean }> {
    const { KeyMetadata } = await withKeyErrors(client.send(new DescribeKeyCommand({ KeyId: id })));
    const isUsable = KeyMetadata?.KeyState === KeyState.Enabled;
    const state: KekState = isUsable ? 'inactive' : 'disabled';
    return { id: KeyMetadata?.Arn ?? id, state, created_at: KeyMetadata?.CreationDate ?? null, isUsable };
  }

  const missing = (error: unknown): null => {
    if (error instanceof KeyError && error.fault === 'missing_key') return null;
    throw error;
  };

  return {
    async wrap(plain, context) {
      const command = new EncryptCommand({ KeyId: key, Plaintext: plain, EncryptionContext: boundTo(context) });
      const { CiphertextBlob, KeyId } = await withKeyErrors(client.send(command));
      if (!CiphertextBlob || !KeyId) throw new KeyError('unavailable', 'AWS KMS answered without a key');
      return { blob: CiphertextBlob, kek_id: KeyId };
    },
    async unwrap(blob, context) {
      const command = new DecryptCommand({ CiphertextBlob: blob, EncryptionContext: boundTo(context) });
      const { Plaintext } = await withKeyErrors(client.send(command));
      if (!Plaintext) throw new KeyError('unavailable', 'AWS KMS answered without a key');
      return Plaintext;
    },
    async rewrap(blob, context) {
      const command = new ReEncryptCommand({
        CiphertextBlob: blob,
        SourceEncryptionContext: boundTo(context),
        DestinationKeyId: key,
        DestinationEncryptionContext: boundTo(context),
      });
      const { CiphertextBlob, KeyId } = await withKeyErrors(client.send(command));
      if (!CiphertextBlob || !KeyId) throw new KeyError('unavailable', 'AWS KMS answered without a key');
      return { blob: CiphertextBlob, kek_id: KeyId };
    },
    async describe(named = []) {
      const { isUsable, ...active } = await infoOf(key);
      const others = await Promise.all(
        [...new Set(named)].filter((id) => id !== active.id).map((id) => infoOf(id).catch(missing)),
      );
      const keys: KekInfo[] = [
        { ...active, state: isUsable ? 'active' : 'disabled' },
        ...others.flatMap((other) =>
          other ? [{ id: other.id, state: other.state, created_at: other.created_at }] : [],
        ),
      ];
      return { provider: 'aws', location: key, keys };
    },
    async health() {
      try {
        const { isUsable, id } = await infoOf(key);
        return isUsable ? { ok: true } : { ok: false, problem: `the key ${id} is disabled` };
      } catch (error) {
        return { ok: false, problem: error instanceof Error ? error.message : String(error) };
      }
    },
    close: () => client.destroy(),
  };
}

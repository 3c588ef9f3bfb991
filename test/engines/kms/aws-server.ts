import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

interface StoredKey {
  arn: string;
  material: Buffer;
  state: 'Enabled' | 'Disabled';
  created: number;
}

interface Request {
  KeyId?: string;
  Plaintext?: string;
  CiphertextBlob?: string;
  EncryptionContext?: Record<string, string>;
  SourceEncryptionContext?: Record<string, string>;
  DestinationKeyId?: string;
  DestinationEncryptionContext?: Record<string, string>;
}

class Refusal extends Error {
  override name = 'Refusal';
  readonly type: string;

  constructor(type: string) {
    super(`${type}: refused`);
    this.type = type;
  }
}

/** A refusal that is not about keys at all: the next so many requests get it. */
interface Trouble {
  type: string;
  status: number;
  count: number;
}

const aad = (context: Record<string, string> = {}) => Buffer.from(JSON.stringify(Object.entries(context).sort()));

/** The part of AWS KMS that wraps keys, in its own protocol (AWS JSON 1.1), with one alias, `alias/portico`. */
export async function startAwsKms() {
  const keys = new Map<string, StoredKey>();
  const requests: string[] = [];
  let trouble: Trouble | null = null;
  let alias = '';

  const add = () => {
    const id = randomUUID();
    const arn = `arn:aws:kms:eu-central-1:111122223333:key/${id}`;
    keys.set(arn, { arn, material: randomBytes(32), state: 'Enabled', created: 1_700_000_000 });
    alias = arn;
    return arn;
  };
  add();

  const find = (id: string | undefined): StoredKey => {
    const key = keys.get(id === 'alias/portico' ? alias : (id ?? ''));
    if (!key) throw new Refusal('NotFoundException');
    return key;
  };
  const usable = (key: StoredKey): StoredKey => {
    if (key.state === 'Disabled') throw new Refusal('DisabledException');
    return key;
  };
  const encrypt = (id: string | undefined, plain: Buffer, context: Record<string, string> | undefined) => {
    const key = usable(find(id));
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', key.material, nonce);
    cipher.setAAD(aad(context));
    const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
    const name = Buffer.from(key.arn.slice(-36));
    const blob = Buffer.concat([name, nonce, cipher.getAuthTag(), sealed]);
    return { KeyId: key.arn, CiphertextBlob: blob.toString('base64') };
  };
  const decrypt = (blobText: string | undefined, context: Record<string, string> | undefined) => {
    const blob = Buffer.from(blobText ?? '', 'base64');
    if (blob.length === 0) throw new Refusal('ValidationException');
    if (blob.length < 65) throw new Refusal('InvalidCiphertextException');
    const key = usable(find(`arn:aws:kms:eu-central-1:111122223333:key/${blob.subarray(0, 36).toString()}`));
    try {
      const decipher = createDecipheriv('aes-256-gcm', key.material, blob.subarray(36, 48));
      decipher.setAAD(aad(context));
      decipher.setAuthTag(blob.subarray(48, 64));
      return { key, plain: Buffer.concat([decipher.update(blob.subarray(64)), decipher.final()]) };
    } catch {
      throw new Refusal('InvalidCiphertextException');
    }
  };

  const answer = (target: string, request: Request): object => {
    switch (target) {
      case 'TrentService.Encrypt':
        return encrypt(request.KeyId, Buffer.from(request.Plaintext ?? '', 'base64'), request.EncryptionContext);
      case 'TrentService.Decrypt': {
        const { key, plain } = decrypt(request.CiphertextBlob, request.EncryptionContext);
        return { KeyId: key.arn, Plaintext: plain.toString('base64') };
      }
      case 'TrentService.ReEncrypt': {
        const { plain } = decrypt(request.CiphertextBlob, request.SourceEncryptionContext);
        return encrypt(request.DestinationKeyId, plain, request.DestinationEncryptionContext);
      }
      case 'TrentService.DescribeKey': {
        const { arn, state, created } = find(request.KeyId);
        return { KeyMetadata: { KeyId: arn.slice(-36), Arn: arn, KeyState: state, CreationDate: created } };
      }
      default:
        throw new Refusal('UnknownOperationException');
    }
  };

  const respond = async (request: IncomingMessage): Promise<{ status: number; body: object }> => {
    const target = String(request.headers['x-amz-target']);
    requests.push(target);
    const sent = JSON.parse(await text(request)) as Request;
    // SigV4 names the key it was signed with, the service and what it covers.
    if (
      !/^AWS4-HMAC-SHA256 Credential=AKIDTEST\/\d{8}\/[\w-]+\/kms\/aws4_request, SignedHeaders=[\w;-]+, Signature=[0-9a-f]{64}$/.test(
        request.headers.authorization ?? '',
      )
    )
      return { status: 400, body: { __type: 'UnrecognizedClientException' } };
    if (trouble && trouble.count > 0) {
      trouble.count -= 1;
      return { status: trouble.status, body: { __type: trouble.type } };
    }
    try {
      return { status: 200, body: answer(target, sent) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: 400, body: { __type: error.type, message: error.message } };
    }
  };

  const server = createServer((request, response) => {
    void respond(request).then(({ status, body }) => {
      response.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(stop);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    rotate: async () => add(),
    disable: async (arn: string) => {
      const key = find(arn);
      key.state = 'Disabled';
    },
    remove: async (arn: string) => {
      keys.delete(arn);
    },
    trouble: (next: Trouble) => {
      trouble = next;
    },
    stop,
  };
}

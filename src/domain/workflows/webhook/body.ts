import { hash } from 'node:crypto';
import { PassThrough, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { mayHold, Tally } from '../../../lib/fair-queue.ts';
import type { BlobStore, KeptBlob, Sha256 } from '../../../ports/blobs.ts';
import type { Caller } from '../../../ports/expressions.ts';
import type { TriggerSecret } from '../triggers/sealed-secret.ts';
import { BodySignatures } from './authenticate.ts';
import { headerLines, type WebhookCall } from './webhook-call.ts';

type BodyCoding = 'gzip' | 'deflate' | 'br';

/** The content coding of a body (RFC 9110 8.4): null for none; undefined for one, or several, that are not understood. */
export function codingOf(header: string | undefined): BodyCoding | null | undefined {
  const name = header?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return null;
  if (name === 'x-gzip') return 'gzip';
  return name === 'gzip' || name === 'deflate' || name === 'br' ? name : undefined;
}

/** `deflate` is zlib's format (RFC 9110 8.4.1.2), and some senders leave its two bytes out. */
const hasZlibHead = (first: number, second: number) => (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;

function decoderOf(coding: BodyCoding, first: Uint8Array) {
  if (coding === 'gzip') return createGunzip();
  if (coding === 'br') return createBrotliDecompress();
  return first.length === 0 || hasZlibHead(first[0] ?? 0, first[1] ?? 0) ? createInflate() : createInflateRaw();
}

/** What a coded body holds; `head` is its beginning, `take` gets each piece. @returns whether it was whole, corrupt, or more than `limit` bytes */
export async function inflate(
  { head, chunks }: { head: Uint8Array; chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array> },
  coding: BodyCoding,
  limit: number,
  take: (chunk: Uint8Array) => void = () => {},
): Promise<'whole' | 'corrupt' | 'too_large'> {
  const decoder = decoderOf(coding, head);
  const source = Readable.from(chunks, { objectMode: false });
  source.pipe(decoder);
  let size = 0;
  try {
    for await (const chunk of decoder) {
      size += (chunk as Buffer).length;
      if (size > limit) return 'too_large';
      take(chunk as Buffer);
    }
    return 'whole';
  } catch (error) {
    if (String((error as NodeJS.ErrnoException).code).match(/^(?:Z_|ERR_|ERR__)/)) return 'corrupt';
    throw error;
  } finally {
    source.destroy();
    decoder.destroy();
  }
}

/**
 * Memory of bodies that is used again. What is thrown away with each call, and lives as long as a commit takes, keeps the collector of garbage
 * busy, for which all other calls wait.
 */
export class SpareBuffers {
  readonly #size: number;
  readonly #most: number;
  readonly #spare: Buffer[] = [];

  /**
   * @param size bytes of each
   * @param most so many are kept
   */
  constructor(size: number, most: number) {
    this.#size = size;
    this.#most = most;
  }

  /** Memory for so many bytes, which may hold anything; a new piece for more than one of these has. */
  take(bytes: number): Buffer {
    if (bytes > this.#size) return Buffer.allocUnsafeSlow(bytes);
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#size);
  }

  /** Returns a buffer that has no readers left. Optional: without it the next body allocates one. */
  give(buffer: Buffer): void {
    if (buffer.length === this.#size && this.#spare.length < this.#most) this.#spare.push(buffer);
  }
}

/** What the body of one call holds of the memory of all. */
interface BodyAccount {
  /** Has so many bytes from now on, instead of less before. @returns false, and takes nothing, when there is not so much left */
  grow(bytes: number): boolean;
  release(): void;
}

/**
 * What the bodies of calls hold of a process's memory. Workflows and organisations have their shares: signatures are known at the end of a body alone, and
 * everybody who knows an address may send one.
 */
export class BodyMemory {
  readonly #most: number;
  readonly #held = new Tally();

  /** @param most bytes */
  constructor(most: number) {
    this.#most = most;
  }

  /** Bytes held now. */
  get held(): number {
    return this.#held.all;
  }

  /** An account for one body. */
  open({ workflow_id, organization_id }: Caller): BodyAccount {
    const keys = [workflow_id, `organization ${organization_id}`] as const;
    let own = 0;
    const others = (key: string) => this.#held.of(key) - own;
    return {
      grow: (bytes) => {
        const held = { all: this.#held.all - own, caller: others(keys[0]), group: others(keys[1]) };
        if (bytes > own && !mayHold(bytes, this.#most, held)) return false;
        this.#held.add(bytes - own, ...keys);
        own = bytes;
        return true;
      },
      release: () => {
        this.#held.add(-own, ...keys);
        own = 0;
      },
    };
  }
}

/** Bodies up to so many bytes are in memory, and then in the delivery's row. */
const inRow = 64 * 1024;

/** Bytes of a larger one that wait for the disk, before its sender has to. */
const ahead = 256 * 1024;
/** Bytes that a body has in memory at most. */
const mostHeld = inRow + ahead;

/** Bytes a body has memory of its own for, which most fit. */
const ownSize = 16 * 1024;
const spare = new SpareBuffers(ownSize, 128);

type Blobs = Pick<BlobStore, 'put' | 'read'>;

/** A larger body on its way into the blob store, where it is nothing until it is ended. */
function spool(blobs: Blobs) {
  // In object mode its reader gets the pieces as they are, not copies of many.
  const stream = new PassThrough({ writableHighWaterMark: ahead, readableObjectMode: true, readableHighWaterMark: 1 });
  stream.on('error', () => {});
  const kept = blobs.put(stream);
  // What the store cannot take is read to its end all the same, and refused where it is kept.
  kept.catch(() => stream.destroy());
  return {
    /** @returns a promise while the disk is behind */
    add(piece: Uint8Array): Promise<void> | undefined {
      if (stream.destroyed || stream.write(piece)) return undefined;
      return new Promise<void>((resolve) => {
        const ready = () => {
          stream.off('drain', ready).off('close', ready);
          resolve();
        };
        stream.on('drain', ready).on('close', ready);
      });
    },
    end(): Promise<KeptBlob> {
      stream.end();
      return kept;
    },
    drop(): void {
      stream.destroy(new Error('the body is not wanted'));
    },
  };
}

/** A body as it came over the wire: a small one in memory, a larger one in the blob store, so that it never is in memory as a whole. */
export class RawBody {
  readonly #blobs: Blobs;
  readonly #pieces: Uint8Array[] = [];
  /** Memory of its own, for as many of the first pieces as it holds. */
  #own: Buffer | undefined;
  #spool: ReturnType<typeof spool> | undefined;
  #kept: Promise<Sha256> | undefined;
  #sha256: Sha256 | undefined;
  size = 0;
  /** The first piece that came. */
  head: Uint8Array = Buffer.alloc(0);

  constructor(blobs: Blobs) {
    this.#blobs = blobs;
  }

  /** Takes the next piece; it is copied while the body is small. @returns a promise when the one after it has to wait */
  add(piece: Uint8Array): Promise<void> | undefined {
    const at = this.size;
    this.size += piece.length;
    if (this.#spool) return this.#spool.add(piece);
    const kept = this.#copied(piece, at);
    if (at === 0) this.head = kept;
    this.#pieces.push(kept);
    if (this.size <= inRow) return undefined;
    this.#spool = spool(this.#blobs);
    return this.#spool.add(Buffer.concat(this.#pieces.splice(0)));
  }

  /** The piece in the body's own memory; itself when that is full. */
  #copied(piece: Uint8Array, at: number): Uint8Array {
    if (at + piece.length > ownSize) return piece;
    this.#own ??= spare.take(ownSize);
    this.#own.set(piece, at);
    return this.#own.subarray(at, at + piece.length);
  }

  /** Resolves when a large body is on the disk. What is not kept is forgotten when it is dropped. */
  async keep(): Promise<void> {
    this.#kept ??= this.#spool ? this.#spool.end().then(({ sha256 }) => sha256) : Promise.resolve(this.#hash());
    this.#sha256 = await this.#kept;
  }

  #hash(): Sha256 {
    return hash('sha256', this.bytes ?? Buffer.alloc(0), 'hex');
  }

  /** Of a body that was kept. */
  get sha256(): Sha256 {
    if (this.#sha256 === undefined) throw new Error('the body was not kept yet');
    return this.#sha256;
  }

  /** All of a small body; null: it is large. */
  get bytes(): Uint8Array | null {
    if (this.#spool) return null;
    if (this.#own && this.size <= ownSize) return this.#own.subarray(0, this.size);
    if (this.#pieces.length > 1) this.#pieces.push(Buffer.concat(this.#pieces.splice(0)));
    return this.#pieces[0] ?? Buffer.alloc(0);
  }

  /** The bytes in order; those of a large body when it was kept. */
  async *read(): AsyncGenerator<Uint8Array> {
    const { bytes } = this;
    if (bytes === null) yield* this.#blobs.read(this.sha256);
    else yield bytes;
  }

  /** Returns its memory to the pool. Only once nothing reads it any more, the database's connection included. */
  release(): void {
    if (this.#own) spare.give(this.#own);
    this.#own = undefined;
    this.#pieces.length = 0;
    this.head = Buffer.alloc(0);
    this.size = 0;
  }

  /** Forgets a body that was not kept. */
  drop(): void {
    if (!this.#kept) this.#spool?.drop();
  }
}

/** What was read, and the version of the secret it was signed with; null without a match or a signature. */
interface ReadBody {
  body: RawBody;
  signedBy: number | null;
}

export type BodyFault = 'too_large' | 'no_memory' | 'slow' | 'gone';

const announced = (rawHeaders: readonly string[]) => Number(headerLines(rawHeaders, 'content-length')[0] ?? 0);

/** What reading a body needs: its limits, where it is kept when it is large, and the secrets it may be signed with. */
interface Reading {
  /** Bytes. */
  limit: number;
  /** Of the memory it takes; the caller's to close. */
  account: BodyAccount;
  blobs: Pick<BlobStore, 'put' | 'read'>;
  secrets: readonly TriggerSecret[];
  signature: Buffer | null;
}

/** Reads a body within its limits, and computes its signature meanwhile. The caller drops a body that is not kept. */
export async function readBody(
  call: Pick<WebhookCall, 'rawHeaders' | 'readBody'>,
  { limit, account, blobs, secrets, signature }: Reading,
): Promise<ReadBody | BodyFault> {
  if (announced(call.rawHeaders) > limit) return 'too_large';
  const signatures = signature === null ? null : new BodySignatures(secrets);
  const body = new RawBody(blobs);
  let fault: BodyFault | null = null;
  const end = await call.readBody((chunk) => {
    const size = body.size + chunk.length;
    if (size > limit) fault = 'too_large';
    // What is only announced takes none: a connection that sends nothing costs its owner as good as nothing.
    else if (!account.grow(Math.min(size, mostHeld))) fault = 'no_memory';
    if (fault !== null) return false;
    signatures?.update(chunk);
    return body.add(chunk)?.then(() => true) ?? true;
  });
  if (end !== 'whole') fault ??= end === 'slow' ? 'slow' : 'gone';
  if (fault !== null) {
    body.drop();
    return fault;
  }
  return { body, signedBy: signatures === null || signature === null ? null : signatures.match(signature) };
}

/** Verifies the signature of a body that was read already, after its secrets have changed. */
export async function signedBy(
  body: Pick<RawBody, 'read'>,
  secrets: readonly TriggerSecret[],
  signature: Buffer,
): Promise<number | null> {
  const signatures = new BodySignatures(secrets);
  for await (const piece of body.read()) signatures.update(piece);
  return signatures.match(signature);
}

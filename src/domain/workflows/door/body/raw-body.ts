import { hash } from 'node:crypto';
import { PassThrough } from 'node:stream';
import type { BlobStore, KeptBlob, Sha256 } from '../../../ports/blobs.ts';
import { SpareBuffers } from './spare-buffers.ts';

/** Bodies up to so many bytes are in memory, and then in the delivery's row. */
const inRow = 64 * 1024;

/** Bytes of a larger one that wait for the disk, before its sender has to. */
const ahead = 256 * 1024;

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

  /** Gives its memory to the next one. Only for who knows that nobody reads it any more, the database's connection included. */
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

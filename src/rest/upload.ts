import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import type { Request } from 'express';
import { DomainError, fieldError } from '../domain/errors.ts';
import type { IncomingFile } from '../domain/operation.ts';

const limits = { fields: 50, fieldSize: 128 * 1024, files: 21, parts: 80 };

/** What a multipart body holds: its fields, and its files as they come in. */
export interface Multipart {
  fields: Record<string, string>;
  files: AsyncIterable<IncomingFile>;
}

/** A queue between the parser, which pushes, and the operation, which pulls one file at a time. */
class FileQueue implements AsyncIterable<IncomingFile> {
  #waiting: (() => void) | null = null;
  readonly #files: IncomingFile[] = [];
  #ended = false;
  #error: unknown = null;

  push(file: IncomingFile): void {
    this.#files.push(file);
    this.#waiting?.();
  }

  end(error: unknown = null): void {
    this.#ended = true;
    this.#error ??= error;
    this.#waiting?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<IncomingFile> {
    while (true) {
      const file = this.#files.shift();
      if (file) yield file;
      else if (this.#error) throw this.#error;
      else if (this.#ended) return;
      else {
        await new Promise<void>((resolve) => {
          this.#waiting = resolve;
        });
      }
    }
  }
}

const malformed = (cause: unknown) =>
  new DomainError('invalid_request', 'body: is not a valid multipart/form-data body', { cause });

/** @throws DomainError `invalid_request` when the type of the body names no boundary */
function parserFor({ headers }: Request): InstanceType<typeof Busboy> {
  try {
    return new Busboy({ headers: headers as { 'content-type': string }, limits });
  } catch (cause) {
    throw malformed(cause);
  }
}

/** A part as it comes in. One that is cut off ends like a whole one, perhaps before anybody reads it, so its error is remembered. */
function whole(content: Readable): AsyncIterable<Uint8Array> {
  let failure: unknown = null;
  content.once('error', (cause) => {
    failure = malformed(cause);
  });
  return (async function* () {
    yield* content;
    if (failure) throw failure;
  })();
}

/**
 * Reads `multipart/form-data` (RFC 7578) as it arrives: resolves with the fields at the first file, so fields come before files. No file is held in
 * memory; the next one is read when the one before has been.
 * @throws DomainError `invalid_request` for a malformed body, a field after a file, or too many parts
 */
export function readMultipart(request: Request): Promise<Multipart> {
  return new Promise((resolve, reject) => {
    const fields: Record<string, string> = Object.create(null);
    const files = new FileQueue();
    let begun = false;
    const fail = (error: unknown) => {
      request.unpipe(parser);
      request.resume();
      reject(error);
      files.end(error);
    };
    const parser = parserFor(request);
    parser.on('field', (name, value) => {
      if (begun) fail(fieldError('invalid_request', name, 'must come before the files'));
      else if (Object.hasOwn(fields, name)) fail(fieldError('invalid_request', name, 'is given twice'));
      else fields[name] = value;
    });
    parser.on('file', (name, content, filename) => {
      if (name !== 'file') {
        content.resume();
        return fail(fieldError('invalid_request', name, 'is not a file field; send files as "file"'));
      }
      begun = true;
      files.push({ name: filename ?? '', content: whole(content) });
      resolve({ fields, files });
    });
    for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
      parser.on(event, () =>
        fail(new DomainError('too_large', 'body: has too many parts; at most 20 files and 50 fields')),
      );
    }
    parser.on('finish', () => {
      files.end();
      resolve({ fields, files });
    });
    parser.on('error', (cause) => fail(malformed(cause)));
    request.on('aborted', () => fail(malformed(new Error('aborted'))));
    request.pipe(parser);
  });
}

import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import type { Request } from 'express';
import { DomainError, fieldError } from '../kernel/errors.ts';
import type { IncomingFile } from '../kernel/operation.ts';
import type { Spool } from '../ports/spool.ts';

/** Files of one request. */
export const maxFiles = 20;
const limits = { fields: 50, fieldSize: 128 * 1024, files: maxFiles, parts: 80 };
/** Headers of a part: what the parser reads of them at most, bytes. */
const partHeaders = 80 * 1024;

type Fields = Record<string, string>;

/** What a multipart body holds. */
interface Multipart {
  fields: Fields;
  /** In the order they came. */
  files: IncomingFile[];
}

interface Reading {
  /** Closed by the caller, who then may no longer read the files. */
  spool: Spool;
  /** Most bytes of one file. */
  limit: number;
  /** Called before a file is read, with the fields that came before it and its name: a rejection refuses the request. */
  admit(fields: Fields, file: string): Promise<unknown>;
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

/** Refuses by its declared length what could not be accepted however it is divided into parts. @throws DomainError `too_large` */
function checkLength(request: Request, limit: number): void {
  const most = maxFiles * limit + limits.fields * limits.fieldSize + limits.parts * partHeaders;
  if (Number(request.headers['content-length'] ?? 0) > most)
    throw new DomainError('too_large', `body: is larger than ${most} bytes, the most that ${maxFiles} files can need`);
}

/** A part as it arrives. One that is cut off ends like a whole one, perhaps before it is read, so its error is remembered. */
function whole(content: Readable): AsyncIterable<Uint8Array> {
  let failure: unknown = null;
  content.on('error', (cause) => {
    failure ??= malformed(cause);
  });
  return (async function* () {
    yield* content;
    if (failure) throw failure;
  })();
}

/**
 * Reads `multipart/form-data` (RFC 7578), whose parts may come in any order: that a field was the last is known only at the end, so each file goes
 * to the spool as it arrives, and none is held in memory.
 * @throws DomainError `invalid_request` for a malformed body, `too_large` for a file or too many parts; what `admit` and the spool throw
 */
export async function readMultipart(request: Request, { spool, limit, admit }: Reading): Promise<Multipart> {
  checkLength(request, limit);
  const parser = parserFor(request);
  const fields: Fields = Object.create(null);
  const files: IncomingFile[] = [];
  const unread = new Set<Readable>();
  let reading = Promise.resolve();

  const readFile = async (name: string, content: Readable, arrived: AsyncIterable<Uint8Array>, known: Fields) => {
    await admit(known, name);
    const spooled = await spool.add(arrived, limit).catch((error: unknown) => {
      if (error instanceof DomainError && error.code === 'too_large')
        throw fieldError('too_large', 'file', error.message);
      throw error;
    });
    unread.delete(content);
    files.push({ name, content: spooled });
  };

  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (error: unknown) => {
        reject(error);
        request.unpipe(parser);
        request.resume();
        // The parser gets no more, so a part that is being read would never end.
        for (const content of unread) content.destroy();
      };
      // A part has a name (RFC 7578, 4.2). The types of the parser say so too, but it reads others, and what throws here ends the process.
      const nameless = () => fail(new DomainError('invalid_request', 'body: has a part without a name'));
      parser.on('field', (name: string | undefined, value) => {
        if (name === undefined) nameless();
        else if (Object.hasOwn(fields, name)) fail(fieldError('invalid_request', name, 'is given twice'));
        else fields[name] = value;
      });
      parser.on('file', (name: string | undefined, content, filename) => {
        const arrived = whole(content);
        if (name !== 'file') {
          content.resume();
          if (name === undefined) return nameless();
          return fail(fieldError('invalid_request', name, 'is not a file field; send files as "file"'));
        }
        unread.add(content);
        const known = { ...fields };
        reading = reading.then(() => readFile(filename ?? '', content, arrived, known));
        reading.catch(fail);
      });
      parser.on('filesLimit', () =>
        fail(new DomainError('too_large', `file: at most ${maxFiles} files can be uploaded at once`)),
      );
      for (const event of ['partsLimit', 'fieldsLimit'] as const) {
        parser.on(event, () =>
          fail(
            new DomainError(
              'too_large',
              `body: has too many parts; at most ${maxFiles} files and ${limits.fields} fields`,
            ),
          ),
        );
      }
      parser.on('finish', () => reading.then(resolve, reject));
      parser.on('error', (cause) => fail(malformed(cause)));
      request.on('aborted', () => fail(malformed(new Error('aborted'))));
      request.pipe(parser);
    });
  } catch (error) {
    // Nothing is written to a spool after its request has failed.
    await reading.catch(() => undefined);
    throw error;
  }
  return { fields, files };
}

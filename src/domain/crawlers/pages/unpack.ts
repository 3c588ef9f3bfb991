import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { SitemapError } from './sitemap-item.ts';

/** Packed twice happens where servers pack files that are packed; more is made to exhaust. */
const maxLevels = 3;

/** The beginning of what is to come, of at least two bytes when there are, and all of it. */
async function peek(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ beginning: Uint8Array; all: AsyncGenerator<Uint8Array, void, undefined> }> {
  const iterator = chunks[Symbol.asyncIterator]();
  let beginning: Uint8Array = Buffer.alloc(0);
  let isDone = false;
  while (!isDone && beginning.length < 2) {
    const next = await iterator.next();
    isDone = next.done === true;
    if (!next.done) beginning = Buffer.concat([beginning, next.value]);
  }
  async function* all() {
    try {
      if (beginning.length > 0) yield beginning;
      while (!isDone) {
        const next = await iterator.next();
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  }
  return { beginning, all: all() };
}

/**
 * Unpacks gzip wherever its magic bytes begin a file, whatever it is called; other bytes pass as they are.
 * @throws SitemapError `gzip` for a broken file, after what could be unpacked
 */
export async function* unpack(chunks: AsyncIterable<Uint8Array>, level = 0): AsyncGenerator<Uint8Array> {
  const { beginning, all } = await peek(chunks);
  if (beginning[0] !== 0x1f || beginning[1] !== 0x8b) {
    yield* all;
    return;
  }
  if (level === maxLevels) {
    await all.return();
    throw new SitemapError('gzip', `packed more than ${maxLevels} times`);
  }
  yield* unpack(gunzip(all), level + 1);
}

async function* gunzip(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = Readable.from(packed);
  const gunzip = createGunzip();
  let sourceError: Error | null = null;
  source.on('error', (error) => {
    sourceError = error;
    gunzip.destroy(error);
  });
  source.pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk;
  } catch (error) {
    if (sourceError !== null || error instanceof SitemapError) throw error;
    throw new SitemapError('gzip', error instanceof Error ? error.message : String(error));
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

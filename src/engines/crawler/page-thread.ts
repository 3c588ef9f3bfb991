import { parentPort, workerData } from 'node:worker_threads';
import { readDocument } from '../../domain/crawlers/pages/read-document.ts';
import type { ReadMessage, ThreadMessage, ThreadSettings } from './page-reader.ts';

/** After this share of its time a document reports what was found so far, then again after twice as long. */
const firstPartial = 1 / 8;

const { limit }: ThreadSettings = workerData;
const send = (message: ThreadMessage) => parentPort?.postMessage(message);

/** Reads until the reader notices that its time is over; the pool that started the thread watches the limit from outside. */
function read({ id, page }: ReadMessage): ThreadMessage {
  const start = performance.now();
  let next = limit * firstPartial;
  const facts = readDocument(page, (found) => {
    const elapsed = performance.now() - start;
    if (elapsed >= limit) return false;
    if (elapsed >= next) {
      next = elapsed * 2;
      send({ type: 'partial', id, facts: found() });
    }
    return true;
  });
  return { type: 'done', id, facts };
}

parentPort?.on('message', (message: ReadMessage) => {
  try {
    send(read(message));
  } catch (error) {
    send({
      type: 'failed',
      id: message.id,
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }
});
send({ type: 'ready' });

import { readDocument } from '../../domain/crawlers/pages/read-document.ts';
import type { PageFacts } from '../../ports/page-facts.ts';
import type { ReaderMessage, ReadMessage } from './page-reader.ts';

/** After this share of its time a document reports what was found so far, then again after twice as long. */
const firstPartial = 1 / 8;
/** Addresses of such a report, which has to fit into what the channel buffers: nothing is sent later while a document is read. */
const mostPartial = 500;

const send = (message: ReaderMessage) => process.send?.(message);

const beginningOf = ({ links, assets, ...facts }: PageFacts): PageFacts => ({
  ...facts,
  links: links.slice(0, mostPartial),
  assets: assets.slice(0, mostPartial),
});

/** Reads until the reader notices that its time is over; the pool that started the process watches the limit from outside. */
function read({ id, page, limit }: ReadMessage): ReaderMessage {
  const start = performance.now();
  let next = limit * firstPartial;
  const facts = readDocument(page, (found) => {
    const elapsed = performance.now() - start;
    if (elapsed >= limit) return false;
    if (elapsed >= next) {
      next = elapsed * 2;
      send({ type: 'partial', id, facts: beginningOf(found()) });
    }
    return true;
  });
  return { type: 'done', id, facts };
}

process.on('message', (message: ReadMessage) => {
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
// A signal to the whole group is ignored: the parent ends it, and without a parent no answer is needed.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());
send({ type: 'ready' });

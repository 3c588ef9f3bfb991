import { BroadcastChannel, parentPort } from 'node:worker_threads';

/** Stands in for the reading thread: reads addresses word by word, and hangs where a document contains the word for it. */
const facts = (charset: string, words: string[]) => ({
  charset,
  links: words.map((word) => ({ url: `https://example.com/${word}`, relation: 'a' })),
  assets: [],
  canonical: null,
  robots: { noindex: false, nofollow: false, noarchive: false },
  linksCut: 0,
  faults: [],
});

parentPort?.on('message', ({ id, page }: { id: number; page: { bytes: Uint8Array } }) => {
  const words = Buffer.from(page.bytes).toString().split(' ');
  const at = words.findIndex((word) => word === 'stuck' || word === 'exit' || word === 'fail');
  if (at !== -1) parentPort?.postMessage({ type: 'partial', id, facts: facts('utf-8', words.slice(0, at)) });
  if (words[at] === 'fail') parentPort?.postMessage({ type: 'failed', id, message: 'a defect' });
  else if (words[at] === 'exit') process.exit(1);
  else if (words[at] === 'stuck') for (;;);
  else parentPort?.postMessage({ type: 'done', id, facts: facts('utf-8', words) });
});
const started = new BroadcastChannel('started reading threads');
started.postMessage(null);
started.close();
parentPort?.postMessage({ type: 'ready' });

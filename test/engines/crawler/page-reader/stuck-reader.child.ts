/** Stands in for the reading process: reads addresses word by word, and does what a document says by one of these. */
const commands: Record<string, (id: number) => void> = {
  stuck: () => {
    for (;;);
  },
  exit: () => process.exit(1),
  fail: (id) => process.send?.({ type: 'failed', id, message: 'a defect' }),
  // More at once than any heap has here: a thread would end the whole process.
  memory: () => {
    const kept: unknown[] = [];
    for (;;) kept.push(new Array(32 * 1024 * 1024).fill(kept));
  },
};

const facts = (charset: string, words: string[]) => ({
  charset,
  links: words.map((word) => ({ url: `https://example.com/${word}`, relation: 'a' })),
  assets: [],
  canonical: null,
  robots: { noindex: false, nofollow: false, noarchive: false },
  linksCut: 0,
  faults: [],
});

process.on('message', ({ id, page }: { id: number; page: { bytes: Uint8Array } }) => {
  const words = Buffer.from(page.bytes).toString().split(' ');
  const at = words.findIndex((word) => Object.hasOwn(commands, word));
  if (at !== -1) {
    process.send?.({ type: 'partial', id, facts: facts('utf-8', words.slice(0, at)) });
    commands[words[at] ?? '']?.(id);
  } else process.send?.({ type: 'done', id, facts: facts('utf-8', words) });
});
process.on('disconnect', () => process.exit());
process.send?.({ type: 'ready' });

import { readPage } from '../../domain/studio/annotations/annotate.ts';
import type { PageReading, PageSource } from '../../ports/page-annotator.ts';

/** A request to the process that reads pages. */
export interface AnnotatorTask {
  html: string;
  source: PageSource | null;
}
export type AnnotatorAnswer = { reading: PageReading } | { failed: string };

function answer({ html, source }: AnnotatorTask): AnnotatorAnswer {
  try {
    return { reading: readPage(html, source) };
  } catch (error) {
    // Nesting that no stack holds, mostly.
    return { failed: (error as Error).message };
  }
}

process.on('message', (task: AnnotatorTask) => process.send?.(answer(task)));
// A signal to the whole group is ignored: the parent ends it, and without a parent no answer is needed.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());
process.send?.('ready');

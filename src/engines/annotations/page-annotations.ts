import { ChildError, ChildPool } from '../../lib/child-processes.ts';
import { AnnotationError, type PageAnnotator } from '../../ports/page-annotator.ts';
import type { AnnotatorAnswer, AnnotatorTask } from './annotator.ts';

/** The module beside this one, as it is run: TypeScript from the sources, JavaScript from a build. */
const annotator = new URL(`./annotator${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/** Of a process, in MiB. */
const heap = 256;

/**
 * Annotates pages in processes of their own: Markdown can be written so that reading it takes any time.
 * @param options.deadline milliseconds for a page
 */
export function createPageAnnotator({ deadline = 5_000 }: { deadline?: number } = {}): PageAnnotator {
  const pool = new ChildPool<AnnotatorTask, AnnotatorAnswer>({ module: annotator, size: 2, heap });
  return {
    async read(html, source, signal) {
      const answer = await pool.run({ html, source }, { deadline, signal }).catch(refused);
      if ('failed' in answer) throw new AnnotationError('too_complex', answer.failed);
      return answer.reading;
    },
    close: () => pool.close(),
  };
}

function refused(error: unknown): never {
  if (!(error instanceof ChildError)) throw error;
  const isOurs = error.fault === 'closed' || error.fault === 'not_started';
  throw new AnnotationError(isOurs ? 'unavailable' : 'too_complex', error.message);
}

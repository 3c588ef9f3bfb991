import type { PageFacts } from '../../../domain/crawlers/pages/page-facts.ts';
import type { PageToRead } from '../../../domain/ports/page-reader.ts';

/** What a reading thread is started with. */
export interface ThreadSettings {
  /** Milliseconds for one document. */
  limit: number;
}

/** To a thread, which reads documents one after another in the order they come. */
export interface ReadMessage {
  id: number;
  page: PageToRead;
}

/** From a thread. */
export type ThreadMessage =
  | { type: 'ready' }
  /** What is known of a document that takes long. */
  | { type: 'partial'; id: number; facts: PageFacts }
  | { type: 'done'; id: number; facts: PageFacts }
  /** A defect of the reader. */
  | { type: 'failed'; id: number; message: string };

/** `field`: a value of the frontmatter; the others are blocks of the body. */
export const pageBlockKinds = [
  'heading',
  'paragraph',
  'list_item',
  'table_cell',
  'code',
  'image',
  'html',
  'field',
] as const;
export type PageBlockKind = (typeof pageBlockKinds)[number];

/** Characters of a piece's text that go along with it. */
export const shownText = 80;

/** The content file that a page was built of. */
export interface PageSource {
  /** Its path. */
  path: string;
  /** The entry as marks of a page name it: `collection/slug`. */
  entry: string;
  /** Id of the site's framework; null: not known. */
  framework: string | null;
  /** Its text at the commit that was built. */
  built: string;
  /** Its text as the branch has it now; null: it is gone. */
  current: string | null;
}

/** A piece of a page with its place in the source. */
export interface PageBlock {
  kind: PageBlockKind;
  /** CSS selector on the page as it was built. */
  selector: string;
  /** The beginning of its comparable text on the page, at most `shownText` characters. */
  text: string;
  /** Lines of the file as it is now, from 1; of a field those of its frontmatter. Null: the file is gone. */
  start_line: number | null;
  end_line: number | null;
  /** JSON Pointer of the frontmatter value that is shown; null: a block of the body. */
  field: string | null;
  /** 1: by a text of its own; less: by its neighbours, or by most of its words. */
  confidence: number;
  /** It has been changed since it was built, so the page does not show what the file says. */
  is_changed: boolean;
  /** It holds what only the site's build can render: a shortcode, a component, an interpolation. */
  has_template: boolean;
}

export interface AnnotatedPage {
  /** Share of the blocks with text that were found on the page, with three decimals; 1 for a file without any. */
  aligned: number;
  blocks: PageBlock[];
}

/** What is read of a page. */
export interface PageReading {
  /** The address it gives itself (`<link rel="canonical">`). */
  canonical: string | null;
  /** The one entry that marks of its templates name, by `collection/slug` or path; null: they name none, or several. */
  marked: string | null;
  /** Comparable texts of its headings of the first level, at most ten. */
  headings: string[];
  /** Null: no source was given. */
  annotated: AnnotatedPage | null;
}

/**
 * Why a page has no blocks: it took too long or too much memory (`too_complex`), or the server is stopping or could start no process for it
 * (`unavailable`).
 */
export class AnnotationError extends Error {
  override name = 'AnnotationError';
  readonly fault: 'too_complex' | 'unavailable';

  constructor(fault: 'too_complex' | 'unavailable', message: string) {
    super(message);
    this.fault = fault;
  }
}

/** Reads pages off the event loop and within limits: they and their sources are outside data, of any shape. */
export interface PageAnnotator {
  /**
   * Reads a page, and finds the blocks of the file it was built of.
   * @throws AnnotationError; the signal's reason once it is aborted
   */
  read(html: string, source: PageSource | null, signal?: AbortSignal): Promise<PageReading>;
  close(): Promise<void>;
}

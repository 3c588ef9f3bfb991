import { editFile } from '../src/domain/studio/frontmatter/edit-file.ts';
import { parseFile } from '../src/domain/studio/frontmatter/parse-file.ts';
import { mergeEntry } from '../src/domain/studio/merge/merge-entry.ts';

/** What is put to the test. */
export interface Engine {
  parse: typeof parseFile;
  edit: typeof editFile;
  merge: typeof mergeEntry;
}

/** The functions every save and merge of the service goes through. */
export const serviceEngine: Engine = { parse: parseFile, edit: editFile, merge: mergeEntry };

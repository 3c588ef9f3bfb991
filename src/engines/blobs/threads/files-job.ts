/** Records of a journal whose contents are to be files of their own. */
export interface FilesJob {
  /** Descriptor of the journal, which is open for reading and stays so meanwhile. */
  file: number;
  /** Where its records begin, and their bytes. */
  at: number;
  size: number;
  /** Where each content belongs, in the order of the records; in directories that exist. */
  places: string[];
  /** Where it is written first, on the same file system. */
  aside: string;
}

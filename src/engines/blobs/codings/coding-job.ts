/** A blob whose codings are to be made; absolute paths, all on one file system. */
export interface CodingJob {
  blob: string;
  /** Where the codings belong; in a directory that exists. */
  place: string;
  /** Where they are written first. */
  aside: string;
}

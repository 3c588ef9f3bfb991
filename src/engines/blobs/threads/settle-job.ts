/** A journal whose files are to be on the disk for good; it goes then. */
export interface SettleJob {
  journal: string;
  /** Of the store. */
  root: string;
}

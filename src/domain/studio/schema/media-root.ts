/** A directory of files that are published beside the pages. */
export interface MediaRoot {
  path: string;
  /** URL path under which the files are published; null when the framework decides per use. */
  public_path: string | null;
}

/** Where something is in a definition, from its top: keys and indices. */
export type Place = readonly (string | number)[];

/** A fault of a definition before its line is known. `offset` counts UTF-16 units within the text at that place. */
export interface Problem {
  place: Place;
  /** `syntax`, `unknown_key`, `duplicate_id`, `unknown_step`, `unknown_operation`, … */
  code: string;
  message: string;
  offset?: number;
}

import { channel } from 'node:diagnostics_channel';

/**
 * What saves and lists do that costs time, published as it happens (node:diagnostics_channel): tests and benchmarks count it, and it costs
 * nothing while there is no subscriber.
 */
export const tally = {
  /** A file is parsed. Message: its path. */
  parse: channel('portico.parse'),
  /** All files of a tree, or all entries of a collection, are gone through. Message: how many. */
  pass: channel('portico.pass'),
  /** A path is compared with the files of one collection. Message: the path. */
  compare: channel('portico.compare'),
  /** A statement is sent to the database. Message: its text, or an object with it as `text`. */
  statement: channel('portico.statement'),
  /** A request to a git process that stays between uses. Message: what it does. */
  gitRequest: channel('portico.git.request'),
  /** A round of commits that share their syncs and one ref update. Message: how many writers. */
  commitRound: channel('portico.git.round'),
};

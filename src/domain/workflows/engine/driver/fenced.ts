/** Somebody else advances the execution: nothing more may be written. */
export class Fenced extends Error {
  override name = 'Fenced';
}

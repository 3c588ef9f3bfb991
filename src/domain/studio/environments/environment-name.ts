import { fieldError } from '../../errors.ts';

const folded = (name: string) => name.normalize('NFC').toLowerCase();

/**
 * Holds a name against those of a project's other environments: upper and lower case do not tell environments apart, as on
 * GitHub. Two that were named before this was held keep their names.
 * @throws DomainError `already_exists`
 */
export function checkNameIsFree(name: string, others: readonly { name: string }[]): void {
  const other = others.find((one) => folded(one.name) === folded(name));
  if (other) throw fieldError('already_exists', 'name', `environment ${other.name} exists`);
}

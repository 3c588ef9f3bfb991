import { fieldError } from './errors.ts';
import { machineNamePattern } from './shapes.ts';

/**
 * The machine name a person's words give: accents dropped, everything but letters and digits becomes `-`.
 * @throws DomainError `invalid_request` when nothing is left; the caller then has to name one.
 */
export function machineNameFrom(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
  if (!machineNamePattern.test(slug)) {
    throw fieldError(
      'invalid_request',
      'machine_name',
      'is required, because the name has no letter or digit to make one from',
    );
  }
  return slug;
}

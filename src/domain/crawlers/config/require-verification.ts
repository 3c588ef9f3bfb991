import { DomainError } from '../../errors.ts';
import type { CrawlDefaults } from './crawl-defaults.ts';
import type { DraftValues } from './draft/draft-fields.ts';

/** Fields that burden a site, in the order they are looked at, and whether a value does. */
const burdens: readonly [keyof DraftValues, (value: unknown, defaults: CrawlDefaults) => boolean][] = [
  ['workers', (value) => value !== 2],
  ['delay', (value) => value !== 4],
  ['max_hits', (value) => value !== 0],
  ['max_html', (value, { max_html }) => value !== max_html],
  ['ignore_robots', (value) => value === true],
];

/** @throws DomainError `verification_required` when a body sets what only owners of a site may set */
export function requireVerification(values: DraftValues, defaults: CrawlDefaults): void {
  const names = burdens
    .filter(([name, isBurden]) => values[name] != null && isBurden(values[name], defaults))
    .map(([name]) => name);
  if (names.length === 0) return;
  const message = 'a non-default value requires a verified domain';
  throw new DomainError('verification_required', `${names[0]}: ${message}`, {
    details: { errors: names.map((name) => ({ field: `/${name}`, code: 'verification_required', message })) },
  });
}

import { LRUCache } from 'lru-cache';
import type { Services } from '../../../kernel/services.ts';
import { base64Cores } from '../../../lib/redaction/encodings.ts';
import { upTo } from '../../../lib/version-cache.ts';
import type { TriggerSecret } from '../triggers/sealed-secret.ts';
import { isInGrace, openSecrets } from '../triggers/sealed-secret.ts';
import type { WebhookTrigger } from '../triggers/trigger-cache.ts';

const redacted = '[redacted]';

/** Headers that are credentials, whatever they hold. */
const secretHeaders = /^(?:(?:proxy-)?authorization|cookie|x-hub-signature.*|x-github-encoded-secret|x-gitlab-token)$/;

const percentEncoded = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

function percentDecoded(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_whole, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** Tells whether a text holds one of the secrets: as it is, in base64 or base64url, hexadecimal, or percent-encoded in any mixture. */
export function secretFinder(secrets: readonly string[]): (text: string) => boolean {
  const plain = secrets.flatMap((secret) => [secret, ...base64Cores(Buffer.from(secret))]);
  const folded = secrets.flatMap((secret) => [Buffer.from(secret).toString('hex'), percentEncoded(secret)]);
  const shortest = Math.min(...[...plain, ...folded].map(({ length }) => length));
  const holds = (text: string) => {
    const standard = text.replaceAll('-', '+').replaceAll('_', '/');
    const lower = text.toLowerCase();
    return (
      plain.some((form) => text.includes(form) || standard.includes(form)) ||
      folded.some((form) => lower.includes(form))
    );
  };
  return (text) => {
    // Decoding makes no text longer.
    if (text.length < shortest) return false;
    if (holds(text)) return true;
    const once = percentDecoded(text);
    return once !== text && (holds(once) || holds(percentDecoded(once)));
  };
}

/** Headers as they may be kept. */
export function redactHeaders(
  headers: ReadonlyMap<string, string>,
  further: readonly string[],
  holdsSecret: (text: string) => boolean,
): Record<string, string> {
  const kept = [...headers].map(([name, value]) => {
    const hidden = secretHeaders.test(name) || further.includes(name) || holdsSecret(value);
    return [name, hidden ? redacted : value.replaceAll('\u0000', '')] as const;
  });
  return Object.fromEntries(kept);
}

/** A query as it may be kept: without `token`, repeated names as lists. */
export function redactQuery(query: string, holdsSecret: (text: string) => boolean): Record<string, string | string[]> {
  const kept = new Map<string, string[]>();
  for (const [rawName, rawValue] of new URLSearchParams(query)) {
    if (rawName === 'token') continue;
    const name = holdsSecret(rawName) ? redacted : rawName.replaceAll('\u0000', '');
    const value = holdsSecret(rawValue) ? redacted : rawValue.replaceAll('\u0000', '');
    kept.set(name, [...(kept.get(name) ?? []), value]);
  }
  return Object.fromEntries(
    [...kept].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]),
  );
}

const minute = 60_000;
/** Of one that has gone since nothing is noted: the time would be taken for that of the next. */
const noteSql =
  'update workflow_trigger set previous_secret_last_used_at = ? where id = ? and previous_secret_version = ?';
const noted = new WeakMap<object, LRUCache<string, true>>();

/** Records, once a minute and in the background, that a caller still uses the previous secret of a webhook. */
export function noteOldSecrets({ orm, clock, log }: Services, trigger: string, version: number): void {
  const recent = noted.get(orm) ?? new LRUCache<string, true>({ ...upTo(10_000), ttl: minute });
  noted.set(orm, recent);
  const name = `${trigger} ${version}`;
  if (recent.has(name)) return;
  recent.set(name, true);
  orm.em
    .fork()
    .execute(noteSql, [clock.now(), trigger, version])
    .catch((err: unknown) => log.warn({ err, trigger }, 'the use of a previous secret was not noted'));
}

/** The secrets of a webhook as they are, and what finds them in a text. */
export interface ClearSecrets {
  secrets: readonly TriggerSecret[];
  holdsSecret(text: string): boolean;
}

interface Known {
  isInGrace: boolean;
  clear: Promise<ClearSecrets>;
}

/** As long as the cache keeps the trigger they belong to: half a minute, and never beyond a change of it. */
const known = new WeakMap<WebhookTrigger, Known>();

/**
 * The secrets that open a webhook now. Opened once for each time its row is read, not once for each call.
 * @throws DomainError `unavailable` when one of them cannot be read
 */
export function clearSecretsOf(
  services: Pick<Services, 'secrets'>,
  trigger: WebhookTrigger,
  now: Date,
): Promise<ClearSecrets> {
  const inGrace = isInGrace(trigger, now);
  const kept = known.get(trigger);
  if (kept?.isInGrace === inGrace) return kept.clear;
  const clear = openSecrets(services, trigger.organization_id, trigger, now).then((secrets) => ({
    secrets,
    holdsSecret: secretFinder(secrets.map(({ value }) => value)),
  }));
  known.set(trigger, { isInGrace: inGrace, clear });
  clear.catch(() => known.delete(trigger));
  return clear;
}

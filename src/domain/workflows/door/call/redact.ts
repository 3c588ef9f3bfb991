import { base64Cores } from '../../../written-forms.ts';

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
  const plain = secrets.flatMap((secret) => [secret, ...base64Cores(secret)]);
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

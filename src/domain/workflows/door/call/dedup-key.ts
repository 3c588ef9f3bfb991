/** Headers by which senders name a delivery, the strongest first. */
const keyHeaders = ['x-github-delivery', 'webhook-id', 'idempotency-key', 'x-gitlab-event-uuid'];

/** The name a sender gave its delivery: the first of the known headers, when it is 1 to 200 visible ASCII characters; else null. */
export function dedupKeyOf(headers: ReadonlyMap<string, string>): string | null {
  const key = keyHeaders.map((name) => headers.get(name)).find((value) => value !== undefined);
  return key !== undefined && /^[\x21-\x7e]{1,200}$/.test(key) ? key : null;
}

import type { CombinedError } from '@urql/core';
import { i18n } from './i18n.ts';

/** What went wrong, for a person. */
export interface Fault {
  /** `extensions.code` of the server; `NETWORK` when there was no answer that GraphQL gave. */
  code: string;
  /** The server's own, finer code, as REST names it; empty where there is none. */
  reason: string;
  message: string;
  /** Texts by JSON Pointer into the command's input, such as `/email` or `/frontmatter/date`. */
  fields: ReadonlyMap<string, string>;
  details: Record<string, unknown>;
}

interface FieldFault {
  field?: string;
  code?: string;
  message?: string;
}

const sentence = (text: string): string => {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(first) ? first : `${first}.`;
};

/** A text of the catalogue for a code of the server, otherwise the server's English. */
export function translated(code: string, english: string): string {
  const key = `faults:${code}` as 'faults:NETWORK';
  return i18n.exists(key) ? i18n.t(key) : sentence(english);
}

/** @returns the fault that a person has to see: the first of several */
export function faultOf(error: CombinedError): Fault {
  const [first] = error.graphQLErrors;
  if (first === undefined) {
    const { status = 0 } = (error.response as Response | undefined) ?? {};
    const code = status === 401 ? 'UNAUTHENTICATED' : 'NETWORK';
    // What stands before the server, such as a proxy, answers in its own words.
    const reason = [502, 503, 504].includes(status) ? 'unavailable' : status >= 500 ? 'internal' : '';
    return { code, reason, message: translated(reason || code, error.message), fields: new Map(), details: {} };
  }
  const { code = 'INTERNAL', reason = '', details = {} } = first.extensions as Partial<Fault>;
  const errors = (details.errors ?? []) as FieldFault[];
  const { retry_after } = details;
  const isTimed = reason === 'rate_limited' && typeof retry_after === 'number';
  return {
    code,
    reason,
    message: isTimed
      ? i18n.t('faults:rate_limited_for', { count: Math.ceil(retry_after / 60) })
      : translated(reason || code, first.message),
    fields: new Map(errors.map(({ field = '', code = '', message = '' }) => [field, translated(code, message)])),
    details,
  };
}

import { isTrustworthy, previewHost } from '../domain/studio/previews/preview-origin.ts';

/** The parsed form of the preview origin's addresses, computed once per form. */
export interface Origin {
  form: string;
  /** What follows the label. */
  host: string;
  /** Browsers take `Secure` cookies from it. */
  isTrustworthy: boolean;
}

export const originOf = (form: string): Origin => ({
  form,
  host: previewHost(form),
  isTrustworthy: isTrustworthy(form),
});

/**
 * The label a request is for, by its Host header (RFC 9110 7.2).
 * @returns '' for the bare host, null for every host that is none of ours
 */
export function labelIn(header: string | undefined, { host }: Origin): string | null {
  const name = header?.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
  if (name === host) return '';
  if (!name?.endsWith(`.${host}`)) return null;
  const label = name.slice(0, -host.length - 1);
  return label === '' || label.includes('.') ? null : label;
}

/** The form of addresses on the preview origin, a label in place of `*`, when no other is set. */
export const previewUrlOf = (host: string, port: number): string => `http://*.${host}${port === 80 ? '' : `:${port}`}`;

/** Host part of all addresses of a form such as `https://*.preview.example.com`: what follows the label. */
export const previewHost = (form: string): string => new URL(form.replace('*.', '')).hostname;

const isHttps = (url: string) => url.startsWith('https:');
const isLocal = (host: string) => host === 'localhost' || host.endsWith('.localhost');

/** Whether browsers take `Secure` cookies from there: https, and every name below `localhost` (W3C Secure Contexts 3.1). */
export const isTrustworthy = (form: string): boolean => isHttps(form) || isLocal(previewHost(form));

/**
 * Whether two hosts may belong to one registrable domain. The last two labels are compared: without the list of public suffixes this finds
 * every pair that does, and some, such as `a.co.uk` and `b.co.uk`, that do not.
 */
function mayShareDomain(one: string, other: string): boolean {
  const [a, b] = [one.split('.'), other.split('.')];
  const count = Math.min(2, a.length, b.length);
  return a.slice(-count).join('.') === b.slice(-count).join('.');
}

/**
 * Why previews may not be served at addresses of a form beside an API at `publicUrl`, as a sentence; null when they may. Cookies ignore
 * ports, so the hosts must keep them apart.
 */
export function originProblem(publicUrl: string, form: string): string | null {
  const [ours, theirs] = [new URL(publicUrl).hostname, previewHost(form)];
  if (ours.endsWith(`.${theirs}`)) {
    return `${ours} is itself a preview host (it ends in .${theirs}); give the API or the previews another host`;
  }
  if (isLocal(ours) && isLocal(theirs)) return null;
  if ((isHttps(publicUrl) && isHttps(form)) || !mayShareDomain(ours, theirs)) return null;
  return `${ours} and ${theirs} may belong to one domain, where a published site could set cookies for the API; serve both over https, or previews from another domain`;
}

/**
 * Headers for answers from an address: where that is https, a browser then uses nothing else with its host for a year (HSTS, RFC 6797). Hosts below it
 * are left out, for they may be others'.
 */
export const transportHeaders = (address: string): Record<string, string> =>
  isHttps(address) ? { 'Strict-Transport-Security': 'max-age=31536000' } : {};

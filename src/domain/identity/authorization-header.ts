/** The token of `Authorization`: Bearer (RFC 6750 2.1), or the password of Basic with any user name (RFC 7617), as git sends it. */
export function tokenOf(header: string | undefined): string | null {
  const [scheme = '', credentials = ''] = header?.split(/ +/, 2) ?? [];
  if (/^bearer$/i.test(scheme)) return credentials;
  if (!/^basic$/i.test(scheme)) return null;
  const text = Buffer.from(credentials, 'base64').toString('utf8');
  return text.slice(text.indexOf(':') + 1);
}

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

/** A real OpenID provider on loopback, at which every visitor is signed in at once as `account`. */
export interface TestProvider {
  issuer: string;
  /** `sub` of the visitor; null: they refuse. */
  account: string | null;
  close(): Promise<void>;
}

export const oidcClient = { id: 'portico', secret: 'a secret of the client' };

export async function openIdProvider(callback: string): Promise<TestProvider> {
  let handle: ((...given: Parameters<ReturnType<Provider['callback']>>) => unknown) | null = null;
  const server = createServer((request, response) => void handle?.(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const made: TestProvider = {
    issuer,
    account: 'ada-there',
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const provider = new Provider(issuer, {
    clients: [{ client_id: oidcClient.id, client_secret: oidcClient.secret, redirect_uris: [callback] }],
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    cookies: { keys: ['of a test'] },
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId ?? '',
        accountId: oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope('openid');
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  handle = (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return answer(request, response);
    const result =
      made.account === null ? { error: 'access_denied' } : { login: { accountId: made.account, remember: false } };
    return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  };
  return made;
}

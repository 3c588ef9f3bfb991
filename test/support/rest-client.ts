/** An answer of the REST interface. */
interface RestAnswer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
  body: any;
}

/** The REST interface of a running server under one token. */
export interface RestClient {
  get(path: string): Promise<RestAnswer>;
  send(method: string, path: string, body: object, headers?: Record<string, string>): Promise<RestAnswer>;
}

/** Speaks to `/api/v2` of a server; rejects only when the connection fails. */
export function restClient(url: string, token: string): RestClient {
  const ask = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/api/v2${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(120_000),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
  };
  return {
    get: (path) => ask('GET', path),
    send: (method, path, body, headers) => ask(method, path, body, headers),
  };
}

/** The studio of the demo's project. */
export const demoStudio = '/organizations/demo/projects/site/studio';

import { describe, expect, it } from 'vitest';
import { routes } from '../../src/rest/routes.ts';
import { metricsToken, shared, startTestApp } from '../support/app.ts';
import { askRaw } from '../support/raw-http.ts';

const app = shared(startTestApp);

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'TRACE'];

/** A path of a row with a value for each parameter, and whether a row matches a path segment by segment. */
const filled = (path: string) => path.replaceAll(/\{\*\w+\}|\*\w+/g, 'en/x').replaceAll(/:\w+/g, 'x1');
const pattern = (path: string) =>
  new RegExp(
    `^${path
      .replaceAll('.', '\\.')
      .replaceAll(/\{?\*\w+\}?/g, '.+')
      .replaceAll(/:\w+/g, '[^/]+')}$`,
  );

const ofRows = [...new Set(routes.map(({ path }) => filled(path)))].map((path) => {
  const known = routes.filter((row) => pattern(row.path).test(path)).map(({ method }) => method.toUpperCase());
  return [path, [...new Set(known.includes('GET') ? [...known, 'HEAD'] : known)].sort().join(', ')] as const;
});
const repository = '/git/acme/site.git';
const others = [
  ...[
    '/healthz',
    '/readyz',
    '/metrics',
    '/',
    '/setup',
    '/sign-in',
    '/join',
    '/reset',
    '/reference',
    '/explorer',
    '/api/v2/openapi.json',
  ].map((path) => [path, 'GET, HEAD'] as const),
  ['/graphql', 'GET, POST'],
  [`${repository}/info/refs`, 'GET, HEAD'],
  [`${repository}/info/refs?service=git-upload-pack`, 'GET, HEAD'],
  [`${repository}/git-upload-pack`, 'POST'],
  [`${repository}/git-receive-pack`, 'POST'],
] as const;

it('covers every row of the table', () => {
  expect(ofRows.length).toBeGreaterThan(100);
  for (const { path } of routes) expect(ofRows.some(([at]) => pattern(path).test(at))).toBe(true);
});

describe.each([...ofRows, ...others])('%s', (path, allow) => {
  const headers = path === '/metrics' ? { authorization: `Bearer ${metricsToken}` } : {};
  const ask = (method: string) => askRaw(app, method, path, { token: null, headers });

  it('answers each method it does not have with 405 and Allow', async () => {
    for (const method of methods.filter((one) => !allow.split(', ').includes(one))) {
      const { status, headers: given, body } = await ask(method);
      expect([method, status, given.get('allow')]).toEqual([method, 405, allow]);
      if (method === 'HEAD') continue;
      if (path.startsWith('/git/')) expect(body).toBe(`Method not allowed; allowed: ${allow}\n`);
      else
        expect(body).toMatchObject({
          error: true,
          code: 'method_not_allowed',
          message: `Method not allowed; allowed: ${allow}`,
        });
    }
  });

  it('answers OPTIONS with 204 and Allow, and says nothing to other origins', async () => {
    const {
      status,
      headers: given,
      body,
    } = await askRaw(app, 'OPTIONS', path, {
      token: null,
      headers: { ...headers, origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' },
    });
    expect([status, given.get('allow'), body]).toEqual([204, allow, '']);
    expect([...given.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
  });
});

it.each(['/api/v2/nothing', '/site/none.css', '/git/acme/site.git/nothing', '/graphql/x', '/nothing'])(
  'answers 404 to every method of %s, where nothing is',
  async (path) => {
    for (const method of [...methods, 'OPTIONS'])
      expect([method, (await askRaw(app, method, path, { token: null })).status]).toEqual([method, 404]);
  },
);

it('hides /metrics from those without its token, whatever the method', async () => {
  for (const method of [...methods, 'OPTIONS'])
    expect((await askRaw(app, method, '/metrics', { token: null })).status).toBe(404);
});

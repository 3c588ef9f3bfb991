/**
 * What browsers load of the service itself: the dashboard, the explorer of GraphQL, and the reference with the OpenAPI document it shows. Each is one
 * page, made for each request since it has a nonce of its own, and the files of its program (`scripts/dashboard.ts`); these have their hash in their
 * name, so a browser keeps them for ever. Everything is public: it describes the software, and of the instance only its address.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import express, { type NextFunction, type Request, type Response, type Router } from 'express';
import type { Settings } from '../kernel/services.ts';
import { madeOfFile } from '../lib/version-cache.ts';
import { onlyGet } from './errors.ts';
import { openapiDocument } from './openapi/openapi.ts';
import type { Row } from './table.ts';

/** One program of the build, and the addresses at which it is. */
interface Program {
  addresses: RegExp;
  title: string;
  /** Directory of its build, below that of the dashboard. */
  directory: string;
  /** Content security policy (CSP Level 3) of its page. */
  policy: (nonce: string, previews: string) => readonly string[];
}

/** Its own files and this server: nothing inline, nothing from other origins, no frames. */
const own = ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "base-uri 'none'"];
const closed = ["form-action 'self'", "frame-ancestors 'none'"];
/** GraphiQL and Scalar write style elements and HTML of descriptions, by libraries that know neither nonces nor Trusted Types. */
const toolPolicy = () => [
  ...own,
  ...closed,
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
];

const programs: readonly Program[] = [
  {
    // `/o` and `/p` have pages below them.
    addresses: /^\/(?:$|setup$|sign-in$|join$|reset$|account$|[op]\/)/,
    title: 'Portico',
    directory: '',
    // Previews may be framed, and show images.
    policy: (nonce, previews) => [
      ...own,
      ...closed,
      `style-src 'self' 'nonce-${nonce}'`,
      `img-src 'self' blob: data: ${previews}`,
      `frame-src ${previews}`,
      "font-src 'self'",
      "worker-src 'self'",
      "require-trusted-types-for 'script'",
    ],
  },
  { addresses: /^\/explorer$/, title: 'GraphQL explorer · Portico', directory: 'explorer', policy: toolPolicy },
  { addresses: /^\/reference$/, title: 'API reference · Portico', directory: 'reference', policy: toolPolicy },
];

/** One file of Vite's manifest, as far as it is read here. */
interface Built {
  file: string;
  css?: string[];
  imports?: string[];
  isEntry?: boolean;
}

/** What a page loads: paths below the directory of its program. */
interface Files {
  script: string;
  /** Loaded by the script before it runs. */
  modules: string[];
  styles: string[];
}

function filesOf(manifest: Record<string, Built>): Files {
  const entry = Object.values(manifest).find(({ isEntry }) => isEntry);
  if (!entry) throw new Error('The manifest of the dashboard names no entry');
  const reached = new Set<Built>();
  const visit = (built: Built): void => {
    if (reached.has(built)) return;
    reached.add(built);
    for (const name of built.imports ?? []) if (manifest[name]) visit(manifest[name]);
  };
  visit(entry);
  const all = [...reached];
  return {
    script: entry.file,
    modules: all.map(({ file }) => file).filter((file) => file !== entry.file),
    styles: all.flatMap(({ css }) => css ?? []),
  };
}

const bar = `<nav class="bar" aria-label="Pages">
<a href="/"><img src="/dashboard/icon.svg" alt="Dashboard" width="24" height="24"></a>
<a href="/reference">API reference</a>
<a href="/explorer">GraphQL explorer</a>
</nav>
`;

/** Nothing of it comes from outside: the names are those of the build. */
function page({ title, directory }: Program, { script, modules, styles }: Files, nonce: string): string {
  const base = path.posix.join('/dashboard', directory);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/dashboard/icon.svg" type="image/svg+xml">
${styles.map((file) => `<link rel="stylesheet" href="${base}/${file}">\n`).join('')}
${modules.map((file) => `<link rel="modulepreload" href="${base}/${file}">\n`).join('')}
<script type="module" nonce="${nonce}" src="${base}/${script}"></script>
</head>
<body>
${directory === '' ? '' : bar.replace(`href="/${directory}"`, '$& aria-current="page"')}<div id="root"></div>
<noscript><p>This page needs JavaScript. Everything it does is in the API too: <a href="/api/v2/openapi.json">OpenAPI document</a>.</p></noscript>
</body>
</html>
`;
}

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Only what the build puts there; all but the icon is named by its hash. */
const files = /^(?:icon\.svg|(?:(?:explorer|reference)\/)?assets\/[\w.-]+)$/;

/** Whether a browser takes brotli (RFC 9110, 12.5.3); a quality of 0 refuses it. */
const takesBrotli = (request: Request): boolean =>
  /\bbr\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(request.get('Accept-Encoding') ?? '');

async function sendFile(directory: string, request: Request, response: Response): Promise<boolean> {
  const name = path.posix.normalize(request.path.slice('/dashboard/'.length));
  const type = types[path.extname(name)];
  if (type === undefined || !files.test(name)) return false;
  const plain = path.join(directory, name);
  const encoded = takesBrotli(request) ? await stat(`${plain}.br`).catch(() => null) : null;
  const found = encoded ?? (await stat(plain).catch(() => null));
  if (!found) return false;
  response.set({
    'Content-Type': type,
    'Content-Length': String(found.size),
    'Cache-Control': name === 'icon.svg' ? 'public, max-age=86400' : 'public, max-age=31536000, immutable',
    'Content-Security-Policy': "default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'same-origin',
    Vary: 'Accept-Encoding',
    ...(encoded && { 'Content-Encoding': 'br' }),
  });
  if (request.method === 'HEAD') response.end();
  // Gone meanwhile, or a browser that has left: the answer is cut off, which its length shows.
  else await pipeline(createReadStream(encoded ? `${plain}.br` : plain), response).catch(() => {});
  return true;
}

/** Names of this machine: a cookie and the origin of the public URL hold for one of them alone. */
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

type Place = 'here' | 'unknown' | { redirect: string };

/**
 * Whether pages can be used under the name a request came by. Another name of this machine leads to the public URL where that is one, too, and is
 * taken for that of a proxy beside the server where it is not. Under any other name (DNS rebinding, a forgotten setting) no one could sign in.
 */
function placeOf(request: Request, public_url: string): Place {
  const own = new URL(public_url);
  const { host } = request;
  if (host === undefined || host.toLowerCase() === own.host) return 'here';
  const name = host.replace(/:\d+$/, '').toLowerCase();
  if (!loopback.has(name)) return name === own.hostname ? 'here' : 'unknown';
  return loopback.has(own.hostname) && host.slice(name.length) === own.host.slice(own.hostname.length)
    ? { redirect: `${public_url}${request.originalUrl}` }
    : 'here';
}

/** What keeps a page to itself: no other page frames it, its type is not guessed, its address is not passed on. */
const pageHeaders = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Answers the addresses of one program, whose files are in a directory. */
function sendPage(
  program: Program,
  directory: string,
  settings: Pick<Settings, 'public_url' | 'preview_url'>,
  status: 200 | 404 = 200,
) {
  const manifest = path.join(directory, program.directory, '.vite/manifest.json');
  /** Read again when it was built anew under a running server. */
  const built = madeOfFile(manifest, (text) => filesOf(JSON.parse(text)));
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const place = placeOf(request, settings.public_url);
    if (place === 'unknown')
      return void response
        .status(421)
        .set('Cache-Control', 'no-store')
        .type('text')
        .send(
          `This is not the address of this server: open ${settings.public_url}, or set PORTICO_PUBLIC_URL to the address in use. A proxy has to pass Host on, or send X-Forwarded-Host from a range of PORTICO_TRUSTED_PROXIES.\n`,
        );
    if (place !== 'here') return void response.set('Cache-Control', 'no-store').redirect(302, place.redirect);
    const nonce = randomBytes(16).toString('base64');
    const policy = program.policy(nonce, settings.preview_url).join('; ');
    response.set({ ...pageHeaders, 'Content-Security-Policy': policy });
    const found = await built().catch(() => null);
    if (found)
      response
        .status(status)
        .type('html')
        .send(page(program, found, nonce));
    else if (status === 404) next();
    else
      response
        .status(503)
        .type('text')
        .send('The dashboard has not been built: run "npm run build", then load this page again.\n');
  };
}

function describe(rows: readonly Row[]) {
  const bytes = Buffer.from(JSON.stringify(openapiDocument(rows)));
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
}

const isRead = ({ method }: Request) => method === 'GET' || method === 'HEAD';

/**
 * Answers the paths named here; all others are left to later handlers.
 *
 * @param directory what `scripts/dashboard.ts` wrote
 */
export function createSite(
  settings: Pick<Settings, 'public_url' | 'preview_url'>,
  rows: readonly Row[],
  directory = path.join(path.dirname(findPackageJSON(import.meta.url) ?? ''), 'dist/dashboard'),
): Router {
  // Made on first use, so that it does not delay the start, and as it is sent: half a megabyte takes ten milliseconds.
  let description: { bytes: Buffer; etag: string } | null = null;
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/api/v2/openapi.json', (request, response) => {
    description ??= describe(rows);
    const { bytes, etag } = description;
    response.set({ 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff', ETag: etag });
    if (request.fresh) response.status(304).end();
    else response.type('json').send(bytes);
  });
  router.all('/api/v2/openapi.json', onlyGet);
  router.get(/^\/dashboard\//, async (request, response, next) => {
    if (!(await sendFile(directory, request, response))) next();
  });
  router.all(/^\/dashboard\//, (request, response, next) =>
    isRead(request) ? next() : onlyGet(request, response, next),
  );
  for (const program of programs) {
    router.get(program.addresses, sendPage(program, directory, settings));
    router.all(program.addresses, onlyGet);
  }
  const [dashboard] = programs;
  const notFound = dashboard && sendPage(dashboard, directory, settings, 404);
  // What a person finds behind an old or mistyped link; programs that call the API get its own answer.
  // As `all`: a path of `get` alone would be answered for OPTIONS, as if something were here.
  router.all(/^\/(?!(?:api|dashboard|git|graphql|webhooks)(?:\/|$))/, (request, response, next) =>
    notFound && isRead(request) && request.accepts(['json', 'html']) === 'html'
      ? notFound(request, response, next)
      : next(),
  );
  return router;
}

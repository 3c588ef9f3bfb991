/**
 * The dashboard: one page for all its addresses, and the files it is made of (`scripts/dashboard.ts`). The page is made for each request, since
 * it has a nonce of its own; the files have their hash in their name, so a browser keeps them for ever.
 */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import express, { type Request, type Response, type Router } from 'express';
import type { Settings } from '../../kernel/services.ts';
import { onlyGet } from '../errors.ts';
import { html } from './html.ts';
import { pageHeaders } from './layout.ts';

/** One file of Vite's manifest, as far as it is read here. */
interface Built {
  file: string;
  css?: string[];
  imports?: string[];
  isEntry?: boolean;
}

/** What a page loads: paths below `/dashboard`. */
interface Files {
  script: string;
  /** Loaded by the script before it runs. */
  modules: string[];
  styles: string[];
}

/** Beside these there are no pages; `/o` and `/p` have others below them. */
const addresses = /^\/(?:$|setup$|sign-in$|join$|reset$|account$|[op]\/)/;

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Content security policy of the page: its own files and this server; previews may be framed, and show images. */
const policyOf = (nonce: string, previews: string): readonly string[] => [
  "default-src 'none'",
  "script-src 'self'",
  `style-src 'self' 'nonce-${nonce}'`,
  `img-src 'self' blob: data: ${previews}`,
  "connect-src 'self'",
  `frame-src ${previews}`,
  "worker-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
];

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

function page({ script, modules, styles }: Files, nonce: string): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Portico</title>
<link rel="icon" href="/site/icon.svg" type="image/svg+xml">
${styles.map((file) => html`<link rel="stylesheet" href="/dashboard/${file}">\n`)}
${modules.map((file) => html`<link rel="modulepreload" href="/dashboard/${file}">\n`)}
<script type="module" nonce="${nonce}" src="/dashboard/${script}"></script>
</head>
<body>
<div id="root"></div>
<noscript><p>The dashboard needs JavaScript. Everything it does is in the API too: <a href="/reference">API reference</a>.</p></noscript>
</body>
</html>
`.text;
}

/** Whether a browser takes brotli (RFC 9110, 12.5.3); a quality of 0 refuses it. */
const takesBrotli = (request: Request): boolean =>
  /\bbr\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(request.get('Accept-Encoding') ?? '');

async function sendFile(directory: string, request: Request, response: Response): Promise<boolean> {
  const name = path.posix.normalize(request.path.slice('/dashboard/'.length));
  const type = types[path.extname(name)];
  // Only what the build puts there, which names its files by their hash.
  if (type === undefined || !/^assets\/[\w.-]+$/.test(name)) return false;
  const plain = path.join(directory, name);
  const encoded = takesBrotli(request) ? await stat(`${plain}.br`).catch(() => null) : null;
  const found = encoded ?? (await stat(plain).catch(() => null));
  if (!found) return false;
  response.set({
    'Content-Type': type,
    'Content-Length': String(found.size),
    'Cache-Control': 'public, max-age=31536000, immutable',
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

interface Options {
  /** What `scripts/dashboard.ts` wrote. */
  directory: string;
  settings: Pick<Settings, 'public_url' | 'preview_url'>;
}

/** Names of this machine: a cookie and the origin of the public URL hold for one of them alone. */
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The address under the public URL's name, when the server was reached by another name of this machine; null otherwise. */
function addressUnderOwnName(request: Request, public_url: string): string | null {
  const own = new URL(public_url);
  const { host } = request.headers;
  if (host === undefined || host === own.host || !loopback.has(own.hostname)) return null;
  const name = host.replace(/:\d+$/, '');
  return loopback.has(name) && host.slice(name.length) === own.host.slice(own.hostname.length)
    ? `${public_url}${request.originalUrl}`
    : null;
}

/** Answers the addresses of the dashboard's pages and files; all others are left to later handlers. */
export function createDashboard({ directory, settings }: Options): Router {
  const manifest = path.join(directory, '.vite/manifest.json');
  let known: { at: number; files: Files } | null = null;
  /** Read again when it was built anew under a running server. */
  const files = async (): Promise<Files> => {
    const { mtimeMs } = await stat(manifest);
    if (known?.at !== mtimeMs) known = { at: mtimeMs, files: filesOf(JSON.parse(await readFile(manifest, 'utf8'))) };
    return known.files;
  };
  const router = express.Router({ strict: true, caseSensitive: true });
  router.all(/^\/dashboard\//, async (request, response, next) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return onlyGet(request, response, next);
    if (!(await sendFile(directory, request, response))) next();
  });
  router.all(addresses, async (request, response, next) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return onlyGet(request, response, next);
    const own = addressUnderOwnName(request, settings.public_url);
    if (own !== null) return void response.set('Cache-Control', 'no-store').redirect(302, own);
    const nonce = randomBytes(16).toString('base64');
    response.set({ ...pageHeaders(policyOf(nonce, settings.preview_url)), 'Cache-Control': 'no-store' });
    const found = await files().catch(() => null);
    if (found) response.type('html').send(page(found, nonce));
    else
      response
        .status(503)
        .type('text')
        .send('The dashboard has not been built: run "npm run build", then load this page again.\n');
  });
  return router;
}

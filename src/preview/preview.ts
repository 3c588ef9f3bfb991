import { createServer, type Server } from 'node:http';

const page = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Portico previews</title>
<meta name="viewport" content="width=device-width">
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}</style>
<h1>Previews live here</h1>
<p>This is the preview origin: built sites are served from here, apart from the API, so that their scripts reach nothing of yours.
No deployment has been published yet.</p></html>
`;

/** The listener of the preview origin: one fixed page of our own that reads no cookie, until there are deployments to serve. */
export function createPreviewServer(): Server {
  return createServer((request, response) => {
    const found = request.method === 'GET' && (request.url === '/' || request.url === '');
    response.writeHead(found ? 200 : 404, {
      'Content-Type': found ? 'text/html; charset=utf-8' : 'text/plain; charset=utf-8',
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
      'X-Robots-Tag': 'noindex',
    });
    response.end(found ? page : 'Nothing is published here\n');
  });
}

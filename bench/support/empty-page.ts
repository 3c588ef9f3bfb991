import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { root } from './server.ts';

/** What each page of the dashboard is made with, and nothing else. */
const source = `import '@mantine/core/styles.css';
import { MantineProvider, Title } from '@mantine/core';
import { createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { Client, fetchExchange } from '@urql/core';
import { createElement as h } from 'react';
import { createRoot } from 'react-dom/client';
import { Provider } from 'urql';
const client = new Client({ url: '/graphql', exchanges: [fetchExchange] });
const route = createRootRoute({ component: () => h(Title, null, 'Nothing') });
const router = createRouter({ routeTree: route });
const page = h(Provider, { value: client }, h(RouterProvider, { router }));
createRoot(document.getElementById('root')).render(h(MantineProvider, null, page));
`;

interface Vite {
  build: (options: object) => Promise<unknown>;
}

/** Builds a page of the dashboard's own stack that shows a heading, and serves it on loopback as the dashboard is served. */
export async function serveEmptyPage(output: string): Promise<{ url: string; stop: () => Promise<void> }> {
  // Where packages are found.
  const sources = path.join(root, 'node_modules/.cache/portico-empty-page');
  await mkdir(sources, { recursive: true });
  const input = path.join(sources, 'main.js');
  await writeFile(input, source);
  const vite = pathToFileURL(path.join(root, 'node_modules/vite/dist/node/index.js')).href;
  const { build } = (await import(vite)) as Vite;
  const options = { outDir: output, emptyOutDir: true, rolldownOptions: { input } };
  await build({ configFile: false, root: sources, logLevel: 'silent', build: options });
  await rm(sources, { recursive: true });
  const names = await readdir(path.join(output, 'assets'));
  const files = new Map<string, Buffer>(
    await Promise.all(
      names.map(
        async (name) =>
          [`/assets/${name}`, brotliCompressSync(await readFile(path.join(output, 'assets', name)))] as const,
      ),
    ),
  );
  const tags = names.map((name) =>
    name.endsWith('.css')
      ? `<link rel="stylesheet" href="/assets/${name}">`
      : `<script type="module" src="/assets/${name}"></script>`,
  );
  const document = `<!doctype html><title>Nothing</title>${tags.join('')}<div id="root"></div>`;
  const server = createServer(({ url = '' }, response) => {
    const file = files.get(url);
    if (!file) return response.setHeader('Content-Type', 'text/html').end(document);
    response.setHeader('Content-Type', url.endsWith('.css') ? 'text/css' : 'text/javascript');
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
    return response.setHeader('Content-Encoding', 'br').end(file);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

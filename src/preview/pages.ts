import type { ServerResponse } from 'node:http';

/** A page of the service itself, for addresses without a site. */
export interface OwnPage {
  status: number;
  title: string;
  text: string;
}

export const bareHost: OwnPage = {
  status: 200,
  title: 'Previews live here',
  text: 'This is the preview origin: built and crawled sites are served from here, each under a host of its own, apart from the API, so that their scripts reach nothing of yours.',
};
export const unknownHost: OwnPage = {
  status: 404,
  title: 'Nothing here',
  text: 'No environment, deployment, crawler or snapshot has this address. It may have been renamed or deleted.',
};
export const unpublished: OwnPage = {
  status: 404,
  title: 'Nothing published yet',
  text: 'No deployment has been published at this address, or its files are no longer kept.',
};
export const notFound: OwnPage = {
  status: 404,
  title: 'Page not found',
  text: 'The published site has no such file, and no page of its own to say so.',
};
export const notFoundInCopy: OwnPage = {
  status: 404,
  title: 'Not captured',
  text: 'The crawl has captured nothing at this address.',
};
export const membersOnly: OwnPage = {
  status: 403,
  title: 'For members',
  text: 'Only members of the project may see this preview. Open it from the dashboard: a link is good for one minute and opens once, and what it opened stays open for eight hours.',
};
export const spentLink: OwnPage = {
  status: 410,
  title: 'Open it again from Portico',
  text: 'This link has been opened before, and each link opens a preview once. If it was not you who opened it, somebody else has seen the link.',
};
export const unopenedLink: OwnPage = {
  status: 403,
  title: 'Not opened yet',
  text: 'This link opens a preview once, when a browser goes to it. What is fetched ahead does not open it.',
};
export const wrongMethod: OwnPage = {
  status: 405,
  title: 'Not possible',
  text: 'Sites are served to GET and HEAD only.',
};
export const away: OwnPage = { status: 503, title: 'Away for a moment', text: 'Please try again in a few seconds.' };
export const failed: OwnPage = { status: 500, title: 'Something went wrong', text: 'The page cannot be served.' };

const style =
  'body{font:16px/1.6 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}';

/** Sends a page of our own; it holds nothing that came from the request. */
export function sendPage(
  response: ServerResponse,
  { status, title, text }: OwnPage,
  headers: Record<string, string> = {},
): void {
  const html = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>${title} – Portico</title>
<meta name="viewport" content="width=device-width">
<style>${style}</style>
<h1>${title}</h1>
<p>${text}</p></html>
`;
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(html),
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Robots-Tag': 'noindex',
    ...headers,
  });
  response.end(html);
}

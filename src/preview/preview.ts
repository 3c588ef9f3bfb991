import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AllServices } from '../domain/services.ts';
import { isEncodable, type ManifestEntry } from '../domain/studio/deployments/manifest.ts';
import { lookUp, type Output } from '../domain/studio/previews/outputs.ts';
import type { PreviewTarget } from '../domain/studio/previews/previews.ts';
import { DomainError } from '../kernel/errors.ts';
import { asUnavailable } from '../kernel/unavailable.ts';
import { Contents } from './contents.ts';
import { labelIn, originOf } from './host.ts';
import { admit } from './members.ts';
import * as pages from './pages.ts';
import { type Headers, sendFile } from './send-file.ts';
import { RewrittenContents } from './site/rewritten.ts';
import { sendEntry } from './site/send-entry.ts';

/** How long open pages still find the assets of the output before; milliseconds. */
const swapTime = 10 * 60_000;

/** Headers of everything served from a target. Versions are compared by ETag, so a cache always revalidates. */
function commonHeaders(services: AllServices, { isMembersOnly, permission }: PreviewTarget): Headers {
  return {
    'Cache-Control': isMembersOnly ? 'private, no-cache' : 'no-cache',
    // Copies of a crawled site must not reveal their address to links.
    'Referrer-Policy': permission === 'browse_crawlers' ? 'no-referrer' : 'strict-origin-when-cross-origin',
    'X-Content-Type-Options': 'nosniff',
    ...(isMembersOnly && {
      'Content-Security-Policy': `frame-ancestors ${new URL(services.settings.public_url).origin}`,
      'X-Robots-Tag': 'noindex',
    }),
  };
}

const contentType = (mime: string) => (mime.startsWith('text/') ? `${mime}; charset=utf-8` : mime);

const fileOf = ({ entry, status }: { entry: ManifestEntry; status: number }) => {
  const [, sha256, , mime] = entry;
  return { sha256, type: contentType(mime), isEncodable: isEncodable(entry), status };
};

async function replacedOutput({ studio, clock }: AllServices, { replaced }: PreviewTarget): Promise<Output | null> {
  if (replaced === null || clock.now().getTime() - replaced.at.getTime() >= swapTime) return null;
  return studio.previews.outputs.get(replaced.manifest_sha256).catch(ifGone(null));
}

/** For `catch`: what is no longer stored counts as `value`. */
const ifGone =
  <T>(value: T) =>
  (error: unknown): T => {
    if (!(error instanceof DomainError) || error.code !== 'not_found') throw error;
    return value;
  };

/**
 * Answers requests on the preview origin: built and crawled sites, each under a host of its own, and never anything of the API or the dashboard. The
 * only cookie it reads or sets is its own.
 */
export function createPreview(services: AllServices): RequestListener {
  const contents = new Contents(services.blobs);
  const rewritten = new RewrittenContents(services.blobs);
  let origin = originOf(services.settings.preview_url);

  async function serve(target: PreviewTarget, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { outputs } = services.studio.previews;
    const common = commonHeaders(services, target);
    if (target.site)
      return sendEntry({ services, contents, rewritten }, request, response, { site: target.site, common });
    const output = target.manifest_sha256 && (await outputs.get(target.manifest_sha256).catch(ifGone(null)));
    if (!output) return pages.sendPage(response, pages.unpublished);
    const found = lookUp(output, request.url ?? '', await replacedOutput(services, target));
    if (found.kind === 'nothing') return pages.sendPage(response, pages.notFound);
    if (found.kind === 'file') return sendFile(contents, request, response, { ...fileOf(found), common });
    response.writeHead(found.status, { ...common, Location: found.location, 'Content-Length': 0 }).end();
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return pages.sendPage(response, pages.wrongMethod, { Allow: 'GET, HEAD' });
    // The port, and with it the form of our addresses, is known only once the listener has one.
    if (origin.form !== services.settings.preview_url) origin = originOf(services.settings.preview_url);
    const label = labelIn(request.headers.host, origin);
    if (label === '') return pages.sendPage(response, pages.bareHost);
    const target = label === null ? null : await services.studio.previews.targets.get(label);
    if (target === null) return pages.sendPage(response, pages.unknownHost);
    if (!target.isMembersOnly) return serve(target, request, response);
    const admission = await admit(services.studio.previews.access, origin, target, request);
    if (admission === 'admitted') return serve(target, request, response);
    if (admission === 'refused') return pages.sendPage(response, pages.membersOnly);
    if (admission === 'spent') return pages.sendPage(response, pages.spentLink);
    if (admission === 'unopened') return pages.sendPage(response, pages.unopenedLink);
    const { location, cookie } = admission.exchange;
    const headers = { Location: location, 'Set-Cookie': cookie, 'Cache-Control': 'no-store', 'Content-Length': 0 };
    response.writeHead(303, { ...commonHeaders(services, target), ...headers, 'Referrer-Policy': 'no-referrer' }).end();
  }

  return (request, response) => {
    answer(request, response).catch((thrown: unknown) => {
      const error = asUnavailable(thrown);
      if ((error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE') return;
      const isAway = error instanceof DomainError && error.code === 'unavailable';
      services.log[isAway ? 'debug' : 'error']({ err: error }, 'preview not served');
      if (response.headersSent) return response.destroy();
      pages.sendPage(response, isAway ? pages.away : pages.failed, isAway ? { 'Retry-After': '2' } : {});
    });
  };
}

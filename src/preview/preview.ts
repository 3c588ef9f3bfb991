import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AllServices } from '../domain/services.ts';
import { isEncodable, type ManifestEntry } from '../domain/studio/deployments/manifest.ts';
import { lookUp, type Output } from '../domain/studio/previews/outputs.ts';
import {
  linkParameter,
  type PassUse,
  type PreviewAccess,
  passSeconds,
} from '../domain/studio/previews/preview-access.ts';
import { isTrustworthy, previewHost, transportHeaders } from '../domain/studio/previews/preview-origin.ts';
import type { PreviewTarget } from '../domain/studio/previews/previews.ts';
import { parseRequestPath } from '../domain/studio/previews/request-path.ts';
import { DomainError } from '../kernel/errors.ts';
import { asUnavailable } from '../kernel/unavailable.ts';
import { Contents } from './contents.ts';
import * as pages from './pages.ts';
import { type Headers, PageScript, sendEditable, sendFile } from './send-file.ts';
import { RewrittenContents, sendEntry } from './site/send-entry.ts';

/** The parsed form of the preview origin's addresses, computed once per form. */
interface Origin {
  form: string;
  /** What follows the label. */
  host: string;
  /** Browsers take `Secure` cookies from it. */
  isTrustworthy: boolean;
}

const originOf = (form: string): Origin => ({
  form,
  host: previewHost(form),
  isTrustworthy: isTrustworthy(form),
});

/**
 * The label a request is for, by its Host header (RFC 9110 7.2).
 * @returns '' for the bare host, null for every host that is none of ours
 */
function labelIn(header: string | undefined, { host }: Origin): string | null {
  const name = header?.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
  if (name === host) return '';
  if (!name?.endsWith(`.${host}`)) return null;
  const label = name.slice(0, -host.length - 1);
  return label === '' || label.includes('.') ? null : label;
}

/**
 * Whether a request may see a members' preview, and edit it; `exchange` when it came by a link that has become a cookie, `spent` by one that has
 * been opened before, `unopened` by one that only a navigation opens.
 */
export type Admission = PassUse | 'refused' | 'spent' | 'unopened' | { exchange: { location: string; cookie: string } };

const cookieName = ({ isTrustworthy }: Origin) => `${isTrustworthy ? '__Host-' : ''}portico-preview`;

/**
 * Where browsers take `Secure` cookies a preview may stand in a frame of the dashboard, and its cookie is kept apart per embedding site
 * (Partitioned). Elsewhere it opens in a tab of its own.
 */
function cookieText(origin: Origin, pass: string): string {
  const scope = origin.isTrustworthy ? 'Secure; SameSite=None; Partitioned' : 'SameSite=Lax';
  return `${cookieName(origin)}=${pass}; HttpOnly; ${scope}; Path=/; Max-Age=${passSeconds.cookie}`;
}

function cookieIn({ headers }: IncomingMessage, name: string): string | null {
  for (const pair of headers.cookie?.split(';') ?? []) {
    const [key, value = ''] = pair.trim().split('=', 2);
    if (key === name) return value;
  }
  return null;
}

/** The pass in a URL and the URL without it; null without a pass, or when the path is invalid and no redirect to it is possible. */
function linkIn(target: string): { pass: string; location: string } | null {
  if (!target.includes(`${linkParameter}=`)) return null;
  const request = parseRequestPath(target);
  if (request === null) return null;
  const pairs = request.query.slice(1).split('&');
  const ours = pairs.find((pair) => pair.startsWith(`${linkParameter}=`));
  if (ours === undefined) return null;
  const rest = pairs.filter((pair) => !pair.startsWith(`${linkParameter}=`)).join('&');
  return { pass: ours.slice(linkParameter.length + 1), location: request.raw + (rest && `?${rest}`) };
}

/**
 * Whether a person opens the address, as far as headers show (W3C Fetch Metadata): not a HEAD, nor a prefetch of a browser or a messenger, nor
 * a script or an image. Clients that send no such headers navigate.
 */
function isNavigation({ method, headers }: IncomingMessage): boolean {
  const purposes = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].map((name) => String(headers[name] ?? ''));
  if (method !== 'GET' || purposes.some((purpose) => /prefetch|prerender|preview/i.test(purpose))) return false;
  return (headers['sec-fetch-mode'] ?? 'navigate') === 'navigate';
}

/** Checks the link or the cookie of a request for a members' preview, and the rights of the member it was made for. */
export async function admit(
  access: PreviewAccess,
  origin: Origin,
  target: PreviewTarget,
  request: IncomingMessage,
): Promise<Admission> {
  const cookie = cookieIn(request, cookieName(origin));
  const link = linkIn(request.url ?? '');
  if (link && isNavigation(request)) {
    const outcome = await access.spendLink(link.pass, target, cookie);
    if (outcome === 'spent') return outcome;
    if (outcome) return { exchange: { location: link.location, cookie: cookieText(origin, outcome.cookie) } };
  }
  const use = cookie === null ? null : await access.useOf(cookie, target);
  if (use !== null) return use;
  return link && !isNavigation(request) ? 'unopened' : 'refused';
}

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
      // Where previews have a domain of their own they are one site to browsers, which send the cookie of one with what another embeds of it.
      'Cross-Origin-Resource-Policy': 'same-origin',
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
 *
 * @param script what pages run while they are edited
 */
export function createPreview(services: AllServices, script = new PageScript()): RequestListener {
  const contents = new Contents(services.blobs);
  const rewritten = new RewrittenContents(services.blobs);
  let origin = originOf(services.settings.preview_url);

  async function serve(
    target: PreviewTarget,
    request: IncomingMessage,
    response: ServerResponse,
    use: PassUse = 'view',
  ): Promise<void> {
    const { outputs } = services.studio.previews;
    const common = commonHeaders(services, target);
    if (target.site)
      return sendEntry({ services, contents, rewritten }, request, response, { site: target.site, common });
    const output = target.manifest_sha256 && (await outputs.get(target.manifest_sha256).catch(ifGone(null)));
    if (!output) return pages.sendPage(response, pages.unpublished);
    // A service worker would answer in place of this listener, with pages that cannot be edited.
    if (use === 'edit' && request.headers['service-worker'] === 'script')
      return pages.sendPage(response, pages.notFound);
    const found = lookUp(output, request.url ?? '', {
      base: target.base_path,
      previous: await replacedOutput(services, target),
    });
    if (found.kind === 'nothing') return pages.sendPage(response, pages.notFound);
    if (found.kind === 'file') {
      const file = { ...fileOf(found), common };
      const tag = () => script.tag(services.settings);
      if (use === 'edit' && (await sendEditable(contents, request, response, file, tag))) return;
      return sendFile(contents, request, response, file);
    }
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
    if (admission === 'view' || admission === 'edit') return serve(target, request, response, admission);
    if (admission === 'refused') return pages.sendPage(response, pages.membersOnly);
    if (admission === 'spent') return pages.sendPage(response, pages.spentLink);
    if (admission === 'unopened') return pages.sendPage(response, pages.unopenedLink);
    const { location, cookie } = admission.exchange;
    const headers = { Location: location, 'Set-Cookie': cookie, 'Cache-Control': 'no-store', 'Content-Length': 0 };
    response.writeHead(303, { ...commonHeaders(services, target), ...headers, 'Referrer-Policy': 'no-referrer' }).end();
  }

  return (request, response) => {
    for (const [name, value] of Object.entries(transportHeaders(services.settings.preview_url)))
      response.setHeader(name, value);
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

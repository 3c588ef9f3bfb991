import type { IncomingMessage, ServerResponse } from 'node:http';
import { findPackageJSON } from 'node:module';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Settings } from '../kernel/services.ts';
import { madeOfFile } from '../lib/version-cache.ts';
import type { Contents } from './contents.ts';
import { end, type Sending } from './send-file.ts';

/** Bytes of a page that can be edited; `studio.annotatePage` reads no larger one either. */
const largest = 4 * 1024 * 1024;

/**
 * Where a script has to stand to be the first of a page (HTML, 13.2.6.4): behind the doctype, since anything else before it puts browsers into quirks
 * mode. Browsers put what stands before `<head>` into it, so no policy or script of the page comes earlier.
 * @returns offset in bytes; null for UTF-16
 */
export function scriptPlace(html: Buffer): number | null {
  if ((html[0] === 0xfe && html[1] === 0xff) || (html[0] === 0xff && html[1] === 0xfe)) return null;
  const text = html.subarray(0, 64 * 1024).toString('latin1');
  let at = text.startsWith('\u00ef\u00bb\u00bf') ? 3 : 0;
  for (;;) {
    while (/[\t\n\f\r ]/.test(text.charAt(at))) at += 1;
    const isComment = text.startsWith('<!--', at);
    const isDoctype = /^<!doctype/i.test(text.slice(at, at + 9));
    if (!isComment && !isDoctype && !text.startsWith('<?', at)) return at;
    const mark = isComment ? '-->' : '>';
    // A comment may be as short as `<!-->`.
    const close = text.indexOf(mark, at + 2);
    if (close < 0) return at;
    at = close + mark.length;
    if (isDoctype) return at;
  }
}

/** The script that pages run while they are edited: a program of the dashboard's build (`src/dashboard/in-page`). */
export class PageScript {
  readonly #text: () => Promise<string>;

  /** @param directory what `scripts/dashboard.ts` wrote */
  constructor(directory = path.join(path.dirname(findPackageJSON(import.meta.url) ?? ''), 'dist/dashboard')) {
    this.#text = madeOfFile(path.join(directory, 'in-page/in-page.js'), (text) =>
      text.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--'),
    );
  }

  /** The element for a page, which names the only origin that gets the script's messages. */
  async tag({ public_url }: Pick<Settings, 'public_url'>): Promise<string> {
    return `<script data-origin="${new URL(public_url).origin}">${await this.#text()}</script>`;
  }
}

/** Sends a page with the script in it. @returns false, and sends nothing, for a file that is no page, is too large, or is in UTF-16 */
export async function sendEditable(
  contents: Contents,
  { method }: IncomingMessage,
  response: ServerResponse,
  { sha256, type, status, common }: Sending,
  tag: () => Promise<string>,
): Promise<boolean> {
  if (!type.startsWith('text/html') || (await contents.sizes(sha256)).identity > largest) return false;
  const html = await buffer(contents.stream(sha256, null));
  const at = scriptPlace(html);
  if (at === null) return false;
  const page = Buffer.concat([html.subarray(0, at), Buffer.from(await tag()), html.subarray(at)]);
  const headers = { ...common, 'Cache-Control': 'no-store', 'Content-Type': type, 'Content-Length': page.length };
  end(response, status, headers, method === 'HEAD' ? undefined : page);
  return true;
}

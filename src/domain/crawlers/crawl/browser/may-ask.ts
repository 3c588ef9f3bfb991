import { hostOfUrl } from '../../frontier/url-draft.ts';
import type { FetchContext } from '../fetch/fetch-context.ts';

/** Whether a page may ask for a URL at all. Scope is no matter: pages need what is elsewhere to be shown. */
export async function mayAsk({ discovery: { site } }: Pick<FetchContext, 'discovery'>, url: string): Promise<boolean> {
  if (site.refuses(url)) return false;
  const rules = await site.robots(hostOfUrl(url));
  return rules === null || rules.isAllowed(url);
}

import { inTurns } from '../../../in-turns.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import type { UrlKind } from '../../frontier/crawl-url.entity.ts';
import { keyBytes, type LinkKeys, noKeys, packKeys, viewOf } from '../../frontier/link-keys.ts';
import type { Outlinks } from '../../frontier/outcome.ts';
import { hostOfUrl, priorities, type UrlDraft } from '../../frontier/url-draft.ts';
import type { LogLine } from '../../runs/run-feed.ts';
import type { KeptOutlinks } from '../fetch/kept-outlinks.ts';
import type { RunSite } from '../open/run-site.ts';
import type { QueryTraps } from './query-traps.ts';
import { noteWay, type Seen, type SeenUrls } from './seen-urls.ts';

/** How deep sheets may import one another, and indexes of sitemaps. */
export const mostLevels = { sheets: 10, indexes: 5 };

/** What decides about URLs that are found. */
export interface Discovery {
  site: RunSite;
  seen: SeenUrls;
  traps: QueryTraps;
  /** Most link hops. */
  depth: number;
  say(line: LogLine): void;
}

type Found = Pick<UrlDraft, 'kind' | 'is_entry' | 'follows' | 'depth' | 'hop' | 'level' | 'parent_id'>;

/** The rule that leaves a URL out; null: it is taken. */
function ruleOf({ site, traps, depth, say }: Discovery, url: string, host: string, found: Found): string | null {
  const rule = site.skips(url, host, found.kind, found.is_entry);
  if (rule !== null) return rule;
  if (!found.is_entry) {
    const trap = traps.rule(url);
    if (trap?.isFirst)
      say({
        level: 'warn',
        event: trap.rule,
        message: `Queries of one address without end: no more of them are asked for, such as ${url}`,
        data: { url },
      });
    if (trap) return trap.rule;
  }
  if (found.kind === 'page' && found.depth > depth) return 'depth';
  return found.kind === 'asset' && found.level > mostLevels.sheets ? 'depth' : null;
}

/** A URL as it enters the frontier. */
export function draftOf(discovery: Discovery, url: string, found: Found): UrlDraft {
  const host = hostOfUrl(url);
  return { url, ...found, priority: priorities[found.kind], rule: ruleOf(discovery, url, host, found) };
}

/** What a captured URL leads to: what the run has not come across like this yet, and the keys of all it links to. */
export interface Led {
  drafts: UrlDraft[];
  link_keys: LinkKeys;
}

export const ledNowhere: Led = { drafts: [], link_keys: noKeys };

/**
 * What a captured URL leads to by its document.
 * @param known keys of all its links and assets, in their order, where they are known
 */
export async function discover(
  discovery: Discovery,
  of: ClaimedUrl,
  { links, assets }: Outlinks,
  known?: LinkKeys,
): Promise<Led> {
  const { seen } = discovery;
  const drafts: UrlDraft[] = [];
  const all = new Set<Seen>();
  const view = known && viewOf(known);
  let at = 0;
  const come = (url: string, kind: UrlKind, depth: number, level: number) => {
    const found = view ? seen.keyed(view.getInt32(at), view.getInt32(at + 4)) : seen.of(url);
    at += keyBytes;
    all.add(found);
    if (!noteWay(found, kind, depth)) return;
    const way = { kind, is_entry: false, follows: true, depth, hop: 0, level, parent_id: of.id };
    drafts.push(draftOf(discovery, url, way));
  };
  // By index: taking pairs apart as iterables makes more garbage than all else here.
  if (of.follows) await inTurns(links, (link) => come(link[0], 'page', of.depth + 1, 0));
  // What a sheet needs is relative to the sheet; what a page needs, begins anew.
  const level = of.kind === 'asset' ? of.level + 1 : 1;
  await inTurns(assets, (asset) => come(asset[0], 'asset', of.depth, level));
  return { drafts, link_keys: known ?? packKeys(all) };
}

/** The same of a URL whose document has not changed. */
export async function discoverAgain(discovery: Discovery, of: ClaimedUrl, kept: KeptOutlinks): Promise<Led> {
  const { keys, links } = kept;
  if (!of.follows || keys.length === 0) return discover(discovery, of, kept.outlinks());
  const view = viewOf(keys);
  for (let at = 0; at < keys.length; at += keyBytes) {
    const isLink = at < links * keyBytes;
    const [kind, depth] = isLink ? (['page', of.depth + 1] as const) : (['asset', of.depth] as const);
    if (!discovery.seen.isKnown(view.getInt32(at), view.getInt32(at + 4), kind, depth))
      return discover(discovery, of, kept.outlinks(), keys);
  }
  return { drafts: [], link_keys: keys };
}

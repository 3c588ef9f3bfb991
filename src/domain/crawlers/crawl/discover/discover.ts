import { inTurns } from '../../../in-turns.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import type { UrlKind } from '../../frontier/crawl-url.entity.ts';
import type { Outlinks } from '../../frontier/outcome.ts';
import { hostOfUrl, linkKey, priorities, type UrlDraft, urlHash } from '../../frontier/url-draft.ts';
import type { LogLine } from '../../runs/run-feed.ts';
import type { RunSite } from '../open/run-site.ts';
import type { QueryTraps } from './query-traps.ts';
import type { Seen, SeenUrls } from './seen-urls.ts';

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

/** What a captured URL leads to: drafts of what the run has not come across like this yet, and the keys of all it links to. */
export async function discover(
  discovery: Discovery,
  of: ClaimedUrl,
  { links, assets }: Outlinks,
): Promise<{ drafts: UrlDraft[]; link_keys: bigint[] }> {
  const { seen } = discovery;
  const drafts: UrlDraft[] = [];
  const keys = new Set<bigint>();
  const come = (url: string, kind: UrlKind, depth: number, level: number) => {
    const known: Seen = seen.get(url) ?? { key: linkKey(urlHash(url)) };
    keys.add(known.key);
    if (!seen.note(url, known, kind, depth)) return;
    const found = { kind, is_entry: false, follows: true, depth, hop: 0, level, parent_id: of.id };
    drafts.push(draftOf(discovery, url, found));
  };
  // By index: taking pairs apart as iterables makes more garbage than all else here.
  if (of.follows) await inTurns(links, (link) => come(link[0], 'page', of.depth + 1, 0));
  // What a sheet needs is relative to the sheet; what a page needs, begins anew.
  const level = of.kind === 'asset' ? of.level + 1 : 1;
  await inTurns(assets, (asset) => come(asset[0], 'asset', of.depth, level));
  return { drafts, link_keys: [...keys] };
}

import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../kernel/sql.ts';
import type { UrlKind, UrlState } from './crawl-url.entity.ts';
import type { Ledger } from './ledger.ts';
import { hostOfUrl, type UrlDraft, urlHash } from './url-draft.ts';

/** Rows of one statement. */
const together = 2_000;

/** Rules another way to a URL may overrule: as an asset it needs no include, by a shorter way it is not too deep. */
const softRules = `('include', 'depth', 'max_html')`;

const columns = `hash text, url text, host text, kind text, is_entry boolean, follows boolean, depth integer, priority integer,
  hop integer, level integer, parent_id bigint, rule text`;

const insertSql = `
  insert into crawl_url (run_id, url_hash, url, host, kind, is_entry, follows, depth, priority, hop, level, parent_id, state, rule)
  select $1::integer, decode(hash, 'hex'), url, host, kind, is_entry, follows, depth, priority, hop, level, parent_id,
    case when rule is null then 'pending' else 'skipped' end, rule
  from json_to_recordset($2::json) as draft (${columns})
  where $3::integer is null or (select epoch from crawler_run where id = $1) = $3
  on conflict (run_id, url_hash) do nothing
  returning encode(url_hash, 'hex') as hash`;

/**
 * A URL that waits keeps the shorter way to it, and is a page when anything says so. One that was skipped for how it was found may be taken now.
 * Each is looked up by its hash and written at its place, whatever the table's statistics say: they know nothing of a run that has just begun, and by
 * them all of it would be read for each batch. In a query of its own the planner cannot look the run's number up in them.
 */
const improveSql = `
  with better as materialized (
    select old.place, old.id, old.state, old.rule, old.depth as old_depth, old.kind as old_kind, draft.depth, draft.follows,
      case when old.state = 'pending' and old.kind <> 'asset' then old.kind else draft.kind end as kind,
      case when old.state = 'pending' and old.kind <> 'asset' then old.priority else draft.priority end as priority
    from json_to_recordset($1::json) as draft (${columns})
    cross join lateral (
      select ctid as place, id, state, rule, depth, kind, priority, follows from crawl_url
      where run_id = (select $2::integer) and url_hash = decode(draft.hash, 'hex') limit 1) as old
    where draft.rule is null and (
      (old.state = 'pending' and (old.depth > draft.depth or (old.kind = 'asset' and draft.kind = 'page')
        or (draft.follows and not old.follows)))
      or (old.state = 'skipped' and old.rule in ${softRules}))
  )
  update crawl_url set depth = least(crawl_url.depth, better.depth), kind = better.kind, priority = better.priority,
    follows = crawl_url.follows or better.follows, state = 'pending', rule = null
  from better where crawl_url.ctid = any (array(select place from better)) and crawl_url.id = better.id
  returning better.state, better.rule, better.old_depth, better.old_kind, crawl_url.kind, crawl_url.depth, crawl_url.host`;

interface Improved {
  state: UrlState;
  rule: string | null;
  old_depth: number;
  old_kind: UrlKind;
  kind: UrlKind;
  depth: number;
  host: string;
}

/** The same URL named several times in a batch: a way that is taken beats one that is not, then pages, then the shorter way. */
function better(a: UrlDraft, b: UrlDraft): UrlDraft {
  if ((a.rule === null) !== (b.rule === null)) return a.rule === null ? a : b;
  if (a.kind !== b.kind) return a.kind === 'asset' ? { ...b, depth: Math.min(a.depth, b.depth) } : a;
  return b.depth < a.depth ? b : a;
}

async function improve(em: EntityManager, run_id: number, rows: readonly object[], ledger: Ledger): Promise<void> {
  const improved = await executeBound<Improved>(em, improveSql, [JSON.stringify(rows), run_id], { isKept: false });
  for (const { state, rule, old_depth, old_kind, kind, depth, host } of improved) {
    ledger.move(
      { kind: old_kind, host, depth: old_depth, state, rule },
      { kind, host, depth, state: 'pending', rule: null },
    );
  }
}

/**
 * Puts URLs into a run's frontier, in the order given. One that is there keeps its state, unless this way to it is better.
 * @param epoch of the run, where the caller may still learn that the run is another's: under an old one nothing is written, nor waited for
 * @returns hashes, in hexadecimal, of URLs that existed before
 */
export async function insertUrls(
  em: EntityManager,
  run_id: number,
  drafts: Iterable<UrlDraft>,
  ledger: Ledger | Promise<Ledger>,
  epoch: number | null = null,
): Promise<Set<string>> {
  const unique = new Map<string, UrlDraft>();
  for (const draft of drafts) {
    const twin = unique.get(draft.url);
    unique.set(draft.url, twin ? better(twin, draft) : draft);
  }
  const known = new Set<string>();
  const all = [...unique.values()];
  for (let from = 0; from < all.length; from += together) {
    const rows = all
      .slice(from, from + together)
      .map((draft) => ({ ...draft, hash: urlHash(draft.url).toString('hex'), host: hostOfUrl(draft.url) }));
    const inserted = await executeBound<{ hash: string }>(em, insertSql, [run_id, JSON.stringify(rows), epoch]);
    const into = await ledger;
    const fresh = new Set(inserted.map(({ hash }) => hash));
    const rest = rows.filter(({ hash }) => !fresh.has(hash));
    for (const { hash, kind, host, depth, rule } of rows) {
      if (fresh.has(hash)) into.move(null, { kind, host, depth, state: rule === null ? 'pending' : 'skipped', rule });
      else known.add(hash);
    }
    if (rest.some(({ rule }) => rule === null)) await improve(em, run_id, rest, into);
  }
  return known;
}

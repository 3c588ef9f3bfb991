import type { MikroORM } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import type { Ports, Settings } from '../../../kernel/services.ts';
import { upTo } from '../../../lib/version-cache.ts';
import type { Sha256 } from '../../../ports/blobs.ts';
import type { Kms } from '../../../ports/kms.ts';
import {
  loadLiveCopy,
  loadSnapshotSite,
  SiteEntries,
  type SnapshotSite,
} from '../../crawlers/snapshots/snapshot-site.ts';
import type { IdentityServices } from '../../identity/authenticate.ts';
import { Outputs } from './outputs.ts';
import { type Guarded, PreviewAccess, PreviewKey } from './preview-access.ts';

/** Characters of an environment's slug that its label can hold: a DNS label has 63 (RFC 1035 2.3.4). */
const slugLength = 50;

/**
 * First part of the host an environment is published under. The last digits of the uuid: the first ones of a time-ordered uuid are the
 * same for all that were made within a minute.
 */
export function environmentLabel({ slug, uuid }: { slug: string; uuid: string }): string {
  return `${slug.slice(0, slugLength)}-${uuid.slice(-8)}`;
}

/** First part of the host of one deployment. No slug has `--` there, so the two never meet. */
export const deploymentLabel = (id: number): string => `d--${id}`;

/** First part of the host of a crawler's live copy. */
export const crawlerLabel = (id: number): string => `c--${id}`;

/** First part of the host of one snapshot of a crawled site. */
export const snapshotLabel = (id: number): string => `s--${id}`;

/** What a label can stand for. Its parts are as the caller sent them: whether there is such a thing is another question. */
type PreviewLabel =
  | { slug: string; uuid_end: string }
  | { deployment_id: number }
  | { crawler_id: number }
  | { snapshot_id: number };

/** Takes a label apart; null when it has none of the forms above. */
export function parseLabel(label: string): PreviewLabel | null {
  const numbered = /^([dcs])--([1-9]\d{0,8})$/.exec(label);
  const id = Number(numbered?.[2]);
  if (numbered?.[1] === 'd') return { deployment_id: id };
  if (numbered?.[1] === 'c') return { crawler_id: id };
  if (numbered?.[1] === 's') return { snapshot_id: id };
  const environment = /^([a-z0-9][a-z0-9-]{0,49})-([0-9a-f]{8})$/.exec(label);
  return environment && { slug: environment[1] ?? '', uuid_end: environment[2] ?? '' };
}

/** Address of a label on the preview origin, without a trailing slash. */
export const labelUrl = (settings: Settings, label: string): string => settings.preview_url.replace('*', label);

/** What stands behind a label of the preview origin now. */
export interface PreviewTarget extends Guarded {
  /** Only callers who may read what it is of see it. */
  isMembersOnly: boolean;
  /** Null: nothing is published. */
  manifest_sha256: Sha256 | null;
  /** The path that its pages take the site to lie below; `''` for none. */
  base_path: string;
  /** What was published there before, and since when it is not any more. */
  replaced: { manifest_sha256: Sha256; at: Date } | null;
  /** The crawled site, where it is one and there is something to see; no manifest is published then. */
  site: SnapshotSite | null;
}

/** The channel on which the database tells of every change to what is published; no payload. */
export const previewChannel = 'portico_previews';

const ofStudio = { permission: 'browse_studio', site: null } as const;

type EnvironmentRow = Pick<PreviewTarget, 'organization_id' | 'project_id' | 'manifest_sha256' | 'base_path'> & {
  slug: string;
  uuid: string;
  visibility: 'public' | 'members';
  replaced_manifest: Sha256 | null;
  replaced_at: Date | null;
};

const environmentQuery = `
  select p.organization_id, p.id as project_id, e.slug, e.uuid, e.visibility, d.manifest_sha256,
    coalesce(d.base_path, '') as base_path,
    r.manifest_sha256 as replaced_manifest, r.replaced_at
  from environment e join project p on p.id = e.project_id and p.deleted_at is null
    left join deployment d on d.id = e.published_deployment_id
    left join replaced_output r on r.environment_id = e.id
  where right(e.uuid::text, 8) = ?`;

const deploymentQuery = `
  select p.organization_id, p.id as project_id, d.manifest_sha256, d.base_path
  from deployment d join project p on p.id = d.project_id and p.deleted_at is null
  where d.id = ?`;

/**
 * Labels and what they stand for. Kept for 30 s at most and forgotten with every notification; while the listening connection is
 * down nothing is cached, so the next request after a publish is served the new output everywhere.
 */
class PreviewTargets {
  readonly #orm: MikroORM;
  /** Promises, so that requests for one label ask once together; null for labels that stand for nothing. */
  readonly #cache = new LRUCache<string, Promise<PreviewTarget | null>>({ ...upTo(10_000), ttl: 30_000 });
  #isListening = false;

  constructor(orm: MikroORM) {
    this.#orm = orm;
  }

  /** Called by the listening connection when it connects or is lost. */
  setListening(isListening: boolean): void {
    this.#isListening = isListening;
    this.#cache.clear();
  }

  /** Evicts all labels; called on each change. */
  forget(): void {
    this.#cache.clear();
  }

  get(label: string): Promise<PreviewTarget | null> {
    const known = this.#cache.get(label);
    if (known !== undefined) return known;
    const loading = this.#load(label);
    if (this.#isListening) {
      this.#cache.set(label, loading);
      loading.catch(() => this.#cache.delete(label));
    }
    return loading;
  }

  async #load(label: string): Promise<PreviewTarget | null> {
    const parsed = parseLabel(label);
    if (parsed === null) return null;
    if ('deployment_id' in parsed) return this.#deployment(label, parsed.deployment_id);
    if ('uuid_end' in parsed) return this.#environment(label, parsed.uuid_end);
    return this.#crawled(label, parsed);
  }

  async #environment(label: string, uuidEnd: string): Promise<PreviewTarget | null> {
    const rows = (await this.#orm.em.fork().execute(environmentQuery, [uuidEnd])) as EnvironmentRow[];
    const row = rows.find((each) => environmentLabel(each) === label);
    if (!row) return null;
    const { visibility, replaced_manifest, replaced_at, organization_id, project_id, manifest_sha256, base_path } = row;
    const replaced =
      replaced_manifest !== null && replaced_at !== null
        ? { manifest_sha256: replaced_manifest, at: new Date(replaced_at) }
        : null;
    const isMembersOnly = visibility === 'members';
    const of = { organization_id, project_id, manifest_sha256, base_path };
    return { ...ofStudio, label, ...of, isMembersOnly, replaced };
  }

  async #deployment(label: string, id: number): Promise<PreviewTarget | null> {
    const [row] = (await this.#orm.em.fork().execute(deploymentQuery, [id])) as Omit<EnvironmentRow, 'slug'>[];
    return row ? { ...ofStudio, label, ...row, isMembersOnly: true, replaced: null } : null;
  }

  async #crawled(label: string, of: { crawler_id: number } | { snapshot_id: number }): Promise<PreviewTarget | null> {
    const em = this.#orm.em.fork();
    const found =
      'crawler_id' in of ? await loadLiveCopy(em, of.crawler_id) : await loadSnapshotSite(em, of.snapshot_id);
    if (found === null) return null;
    return {
      label,
      ...found,
      permission: 'browse_crawlers',
      isMembersOnly: true,
      manifest_sha256: null,
      base_path: '',
      replaced: null,
    };
  }
}

/** What this process knows of published outputs and crawled sites. */
export interface Previews {
  targets: PreviewTargets;
  outputs: Outputs;
  entries: SiteEntries;
  access: PreviewAccess;
}

/**
 * Makes the previews of a process.
 * @param keyOrm for keys alone
 */
export function createPreviews(
  services: () => IdentityServices,
  { orm, blobs }: Pick<Ports, 'orm' | 'blobs'>,
  { keyOrm, kms }: { keyOrm: MikroORM; kms: Kms },
): Previews {
  return {
    targets: new PreviewTargets(orm),
    outputs: new Outputs(blobs),
    entries: new SiteEntries(orm),
    access: new PreviewAccess(services, new PreviewKey(keyOrm, kms)),
  };
}

import type { MikroORM } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import { loadLiveCopy, loadSnapshotSite, type SnapshotSite } from '../../crawlers/snapshots/snapshot-site.ts';
import { upTo } from '../../lru-size.ts';
import type { Permission } from '../../permissions.ts';
import type { Sha256 } from '../../ports/blobs.ts';
import { environmentLabel, parseLabel } from './preview-label.ts';

/** What stands behind a label of the preview origin now. */
export interface PreviewTarget {
  label: string;
  organization_id: number;
  project_id: number;
  /** Only callers who may read what it is of see it. */
  isMembersOnly: boolean;
  /** What those callers must be permitted. */
  permission: Permission;
  /** Null: nothing is published. */
  manifest_sha256: Sha256 | null;
  /** What was published there before, and since when it is not any more. */
  replaced: { manifest_sha256: Sha256; at: Date } | null;
  /** The crawled site, where it is one and there is something to see; no manifest is published then. */
  site: SnapshotSite | null;
}

/** The channel on which the database tells of every change to what is published; no payload. */
export const previewChannel = 'portico_previews';

const ofStudio = { permission: 'browse_studio', site: null } as const;

type EnvironmentRow = Pick<PreviewTarget, 'organization_id' | 'project_id' | 'manifest_sha256'> & {
  slug: string;
  uuid: string;
  visibility: 'public' | 'members';
  replaced_manifest: Sha256 | null;
  replaced_at: Date | null;
};

const environmentQuery = `
  select p.organization_id, p.id as project_id, e.slug, e.uuid, e.visibility, d.manifest_sha256,
    r.manifest_sha256 as replaced_manifest, r.replaced_at
  from environment e join project p on p.id = e.project_id and p.deleted_at is null
    left join deployment d on d.id = e.published_deployment_id
    left join replaced_output r on r.environment_id = e.id
  where right(e.uuid::text, 8) = ?`;

const deploymentQuery = `
  select p.organization_id, p.id as project_id, d.manifest_sha256
  from deployment d join project p on p.id = d.project_id and p.deleted_at is null
  where d.id = ?`;

/**
 * Labels and what they stand for. Kept for 30 s at most and forgotten with every notification; while this process cannot hear
 * notifications nothing is kept, so the next request after a publish is served the new output everywhere.
 */
export class PreviewTargets {
  readonly #orm: MikroORM;
  /** Promises, so that requests for one label ask once together; null for labels that stand for nothing. */
  readonly #cache = new LRUCache<string, Promise<PreviewTarget | null>>({ ...upTo(10_000), ttl: 30_000 });
  #isListening = false;

  constructor(orm: MikroORM) {
    this.#orm = orm;
  }

  /** Told by the listening connection whether it hears notifications. */
  setListening(isListening: boolean): void {
    this.#isListening = isListening;
    this.#cache.clear();
  }

  /** Told of each change. */
  forget(): void {
    this.#cache.clear();
  }

  get(label: string): Promise<PreviewTarget | null> {
    const known = this.#cache.get(label);
    if (known !== undefined) return known;
    const asked = this.#load(label);
    if (this.#isListening) {
      this.#cache.set(label, asked);
      asked.catch(() => this.#cache.delete(label));
    }
    return asked;
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
    const { organization_id, project_id, visibility, manifest_sha256, replaced_manifest, replaced_at } = row;
    const replaced =
      replaced_manifest !== null && replaced_at !== null
        ? { manifest_sha256: replaced_manifest, at: new Date(replaced_at) }
        : null;
    const isMembersOnly = visibility === 'members';
    return { ...ofStudio, label, organization_id, project_id, isMembersOnly, manifest_sha256, replaced };
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
      replaced: null,
    };
  }
}

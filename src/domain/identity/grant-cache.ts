import type { EntityManager } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import type { Permission } from '../../kernel/permissions.ts';
import type { Grants } from '../../kernel/services.ts';
import { upTo } from '../../lib/version-cache.ts';
import type { OrganizationRef } from '../organizations/organization.entity.ts';
import type { ProjectRef } from '../projects/project.entity.ts';

/** What a living token allows: the part of its row that every request needs. */
export interface TokenGrant {
  id: number;
  organization_id: number;
  name: string;
  permissions: readonly Permission[];
  projects: readonly number[] | null;
  expires_at: number | null;
}

type Cached =
  | { kind: 'token'; value: TokenGrant }
  | { kind: 'organization'; value: OrganizationRef }
  | { kind: 'project'; value: ProjectRef };

const organizationOf = (cached: Cached) =>
  cached.kind === 'organization' ? cached.value.id : cached.value.organization_id;

/** The channel on which a transaction tells all processes whose rights it changed; the payload is the organisation's id. */
export const grantChannel = 'portico_grants';

/**
 * What every request reads: which token grants what, and which ids stand behind two machine names. Entries live 30 s and are evicted by
 * NOTIFY; while the listening connection is down nothing is cached, so a revocation holds everywhere at once.
 */
export class GrantCache implements Grants {
  readonly #entries = new LRUCache<string, Cached>({ ...upTo(10_000), ttl: 30_000 });
  /** Hashes of tokens that were valid when last read; grants nothing, and so needs no eviction. */
  readonly #accepted = new LRUCache<string, true>(upTo(10_000));
  readonly #lastUse = new LRUCache<number, number>(upTo(10_000));
  #listening = false;
  #generation = 0;

  /** Called by the listening connection when it connects or is lost. */
  setListening(listening: boolean): void {
    this.#listening = listening;
    this.#generation += 1;
    this.#entries.clear();
  }

  /** Forgets all that concerns one organisation. */
  evict(organizationId: number): void {
    this.#generation += 1;
    for (const [key, cached] of this.#entries.entries()) {
      if (organizationOf(cached) === organizationId) this.#entries.delete(key);
    }
  }

  /** Organisations the transaction of a manager has named: the notification reaches its own process only later. */
  changedIn(em: EntityManager): Iterable<number> {
    return changed.get(em) ?? [];
  }

  async #get<V>(key: string, load: () => Promise<V | null>, wrap: (value: V) => Cached): Promise<V | null> {
    const hit = this.#entries.get(key);
    if (hit) return hit.value as V;
    const generation = this.#generation;
    const value = await load();
    // A row read before a notification must not be kept after it.
    if (value && this.#listening && generation === this.#generation) this.#entries.set(key, wrap(value));
    return value;
  }

  token(hash: string, load: () => Promise<TokenGrant | null>): Promise<TokenGrant | null> {
    return this.#get(`t:${hash}`, load, (value) => ({ kind: 'token', value }));
  }

  organization(name: string, load: () => Promise<OrganizationRef>): Promise<OrganizationRef> {
    return this.#get(`o:${name}`, load, (value) => ({ kind: 'organization', value })) as Promise<OrganizationRef>;
  }

  project(organizationId: number, name: string, load: () => Promise<ProjectRef>): Promise<ProjectRef> {
    return this.#get(`p:${organizationId}:${name}`, load, (value) => ({
      kind: 'project',
      value,
    })) as Promise<ProjectRef>;
  }

  /** Notes whether a token was good. */
  setAccepted(hash: string, isGood: boolean): void {
    if (isGood) this.#accepted.set(hash, true);
    else this.#accepted.delete(hash);
  }

  isAccepted(hash: string): boolean {
    return this.#accepted.has(hash);
  }

  /** Whether the last use of a token should be written: at most once a minute per process. */
  useIsDue(tokenId: number, now: Date): boolean {
    if (now.getTime() - (this.#lastUse.get(tokenId) ?? 0) < 60_000) return false;
    this.#lastUse.set(tokenId, now.getTime());
    return true;
  }
}

const changed = new WeakMap<EntityManager, Set<number>>();

/** Tells every process, when the transaction commits, that rights or names in an organisation changed. */
export async function grantsChanged(em: EntityManager, organizationId: number): Promise<void> {
  changed.set(em, (changed.get(em) ?? new Set()).add(organizationId));
  await em.execute(`select pg_notify('${grantChannel}', ?)`, [String(organizationId)]);
}

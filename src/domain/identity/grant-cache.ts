import type { EntityManager } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import type { Grant, Permission, ToolRights } from '../../kernel/actor.ts';
import type { Grants, RightsOf } from '../../kernel/services.ts';
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
  mcp: ToolRights;
  expires_at: number | null;
}

/** What a person may do, with the session that was read for it. */
export interface UserGrant {
  id: number;
  name: string;
  email: string;
  instance_admin: boolean;
  grants: readonly Grant[];
  session: { id: number; created_at: Date; last_used: Date; proved_at: Date } | null;
}

type Cached =
  | { kind: 'token'; value: TokenGrant }
  | { kind: 'user'; value: UserGrant }
  | { kind: 'organization'; value: OrganizationRef }
  | { kind: 'project'; value: ProjectRef };

/** Whose rights or names an entry depends on. */
function subjectsOf({ kind, value }: Cached): RightsOf[] {
  if (kind === 'organization') return [`organization:${value.id}`];
  if (kind !== 'user') return [`organization:${value.organization_id}`];
  return [`user:${value.id}`, ...value.grants.map((grant): RightsOf => `organization:${grant.organization_id}`)];
}

/** The channel on which a transaction notifies all processes of whose rights it changed; the payload is a `RightsOf`. */
export const grantChannel = 'portico_grants';

/**
 * What every request reads: which token grants what, and which ids stand behind two machine names. Entries live 30 s and are evicted by
 * NOTIFY; while the listening connection is down nothing is cached, so a revocation holds everywhere at once.
 */
export class GrantCache implements Grants {
  readonly #entries = new LRUCache<string, Cached>({ ...upTo(10_000), ttl: 30_000 });
  /** Hashes of tokens that were valid when last read; grants nothing, and so needs no eviction. */
  readonly #accepted = new LRUCache<string, true>(upTo(10_000));
  readonly #lastUse = new LRUCache<string, number>(upTo(10_000));
  #listening = false;
  #generation = 0;

  /** Called by the listening connection when it connects or is lost. */
  setListening(listening: boolean): void {
    this.#listening = listening;
    this.#generation += 1;
    this.#entries.clear();
  }

  /** Forgets all that depends on the rights and names of an organisation, or on the rights of a user. */
  evict(subject: RightsOf): void {
    this.#generation += 1;
    for (const [key, cached] of this.#entries.entries()) {
      if (subjectsOf(cached).includes(subject)) this.#entries.delete(key);
    }
  }

  /** Whose rights the transaction of a manager has changed: the notification reaches its own process only later. */
  changedIn(em: EntityManager): Iterable<RightsOf> {
    return changed.get(em) ?? [];
  }

  async hold(em: EntityManager, organizations: readonly number[]): Promise<void> {
    // All in one order, so that no two wait for each other. The lock keeps no row from naming the organisation (foreign keys).
    await em.execute(
      `select 1 from organization where id = any(string_to_array(?, ' ')::int[]) order by id for no key update`,
      [organizations.join(' ')],
    );
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

  /** @param key of a session by its hash or its id, or of a user by id */
  user(
    key: `s:${string}` | `i:${number}` | `u:${number}`,
    load: () => Promise<UserGrant | null>,
  ): Promise<UserGrant | null> {
    return this.#get(key, load, (value) => ({ kind: 'user', value }));
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

  /** Whether the last use of a token or session should be written: at most once a minute per process. */
  useIsDue(credential: `token:${number}` | `session:${number}`, now: Date): boolean {
    if (now.getTime() - (this.#lastUse.get(credential) ?? 0) < 60_000) return false;
    this.#lastUse.set(credential, now.getTime());
    return true;
  }
}

const changed = new WeakMap<EntityManager, Set<RightsOf>>();

async function notify(em: EntityManager, subject: RightsOf): Promise<void> {
  changed.set(em, (changed.get(em) ?? new Set()).add(subject));
  await em.execute(`select pg_notify('${grantChannel}', ?)`, [subject]);
}

/** Notifies every process, when the transaction commits, that rights or names in an organisation changed. */
export const grantsChanged = (em: EntityManager, organizationId: number): Promise<void> =>
  notify(em, `organization:${organizationId}`);

/** Notifies every process, when the transaction commits, that the rights of a user changed, or a session of theirs ended. */
export const userChanged = (em: EntityManager, userId: number): Promise<void> => notify(em, `user:${userId}`);

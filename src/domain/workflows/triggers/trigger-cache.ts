import type { MikroORM } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import { upTo } from '../../../lib/version-cache.ts';
import type { SealedSecrets } from './sealed-secret.ts';
import type { AuthMode, WebhookMethod } from './trigger.entity.ts';

/** The channel on which the database announces which workflow's webhook has changed; the payload is its id. */
export const triggerChannel = 'portico_workflow_triggers';

/** A webhook as its endpoint needs it: secrets as ciphertexts. */
export interface WebhookTrigger extends SealedSecrets {
  workflow_id: string;
  project_id: number;
  organization_id: number;
  /** The workflow and the trigger are. */
  enabled: boolean;
  auth_mode: AuthMode;
  methods: WebhookMethod[] | null;
  rate_limit: number | null;
  /** Pending executions of the organisation; null: the usual. */
  backlog: number | null;
}

const sql = `
  select t.id, t.workflow_id, w.project_id, p.organization_id, t.enabled and w.enabled as enabled, t.auth_mode, t.methods,
    t.rate_limit, t.secret, t.secret_version, t.previous_secret, t.previous_secret_version, t.previous_secret_expires_at,
    (o.limits ->> 'workflow_backlog')::int as backlog
  from workflow_trigger t
    join workflow w on w.id = t.workflow_id and w.deleted_at is null
    join project p on p.id = w.project_id and p.deleted_at is null
    join organization o on o.id = p.organization_id
  where t.workflow_id = ? and t.type = 'webhook' and t.deleted_at is null`;

type Row = Omit<WebhookTrigger, 'previous_secret_expires_at'> & { previous_secret_expires_at: string | Date | null };

/**
 * Webhooks by their workflow. A miss reads the database, so an answer never depends on which process is called; entries live 30 s and are
 * evicted by NOTIFY, and while the listening connection is down nothing is cached. A call that is proved against an entry is accepted only
 * if the row still agrees, so a stale entry costs time and nothing else.
 */
export class TriggerCache {
  readonly #orm: MikroORM;
  readonly #entries = new LRUCache<string, { trigger: WebhookTrigger | null }>({ ...upTo(10_000), ttl: 30_000 });
  readonly #loading = new Map<string, Promise<WebhookTrigger | null>>();
  #isListening = false;
  #generation = 0;

  constructor(orm: MikroORM) {
    this.#orm = orm;
  }

  /** Called by the listening connection when it connects or is lost. */
  setListening(isListening: boolean): void {
    this.#isListening = isListening;
    this.#generation += 1;
    this.#entries.clear();
    this.#loading.clear();
  }

  /** Forgets a workflow's webhook. */
  evict(workflow: string): void {
    this.#generation += 1;
    this.#entries.delete(workflow);
    this.#loading.delete(workflow);
  }

  /** Null for a workflow without a webhook. */
  async get(workflow: string): Promise<WebhookTrigger | null> {
    const known = this.#entries.get(workflow);
    if (known) return known.trigger;
    // Concurrent misses share one query.
    const loading = this.#loading.get(workflow) ?? this.#load(workflow);
    this.#loading.set(workflow, loading);
    try {
      return await loading;
    } finally {
      if (this.#loading.get(workflow) === loading) this.#loading.delete(workflow);
    }
  }

  async #load(workflow: string): Promise<WebhookTrigger | null> {
    const generation = this.#generation;
    const [row] = await this.#orm.em.fork().execute<Row[]>(sql, [workflow]);
    const until = row?.previous_secret_expires_at;
    const trigger = row ? { ...row, previous_secret_expires_at: until == null ? null : new Date(until) } : null;
    // A row read before a notification must not be kept after it.
    if (this.#isListening && generation === this.#generation) this.#entries.set(workflow, { trigger });
    return trigger;
  }
}

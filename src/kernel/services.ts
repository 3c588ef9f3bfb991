import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import type { Activity } from '../lib/timing.ts';
import type { ArchiveStore } from '../ports/archive.ts';
import type { BlobStore } from '../ports/blobs.ts';
import type { Browser } from '../ports/browser.ts';
import type { Clock, SharedClock } from '../ports/clock.ts';
import type { Deployer } from '../ports/deployer.ts';
import type { DnsResolver } from '../ports/dns.ts';
import type { EventFeed } from '../ports/event-feed.ts';
import type { Expressions } from '../ports/expressions.ts';
import type { CrawlFetcher } from '../ports/fetcher.ts';
import type { GitStore } from '../ports/git.ts';
import type { GuardedHttp } from '../ports/http.ts';
import type { JobQueue } from '../ports/jobs.ts';
import type { Locks } from '../ports/locks.ts';
import type { Log } from '../ports/log.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Models } from '../ports/model.ts';
import type { OpenId } from '../ports/openid.ts';
import type { PageAnnotator } from '../ports/page-annotator.ts';
import type { PageReader } from '../ports/page-reader.ts';
import type { Secrets } from '../ports/secrets.ts';
import type { Spools } from '../ports/spool.ts';
import type { Grant } from './actor.ts';

/** Settings that use-cases of any feature depend on. */
export interface Settings {
  /** Base of links, without a trailing slash. */
  public_url: string;
  /** Host part of the public URL: the domain of generated author addresses. */
  public_host: string;
  /** Form of the addresses on the preview origin, a label in place of `*`: `http://*.localhost:4281`. */
  preview_url: string;
  /** Largest media file, bytes. */
  media_limit: number;
  /** Of the program: what crawls call themselves. */
  version: string;
  /** Whether people may sign in with a password. */
  password_sign_in: boolean;
  /** Minutes a schedule may run late. */
  schedule_grace: number;
}

/** The outside world, behind interfaces; made once by the composition root. */
export interface Ports {
  orm: MikroORM;
  git: GitStore;
  archives: ArchiveStore;
  blobs: BlobStore;
  /** Where files of requests wait. */
  spools: Spools;
  events: EventFeed;
  expressions: Expressions;
  deployer: Deployer;
  http: GuardedHttp;
  dns: DnsResolver;
  fetcher: CrawlFetcher;
  pages: PageReader;
  annotator: PageAnnotator;
  browser: Browser;
  secrets: Secrets;
  /** null where the settings name no provider. */
  openid: OpenId | null;
  /** The assistant's. */
  models: Models;
  jobs: JobQueue;
  locks: Locks;
  clock: Clock;
  sharedClock: SharedClock;
  metrics: Metrics;
  log: Log;
  settings: Settings;
}

/** The entity manager of a call, made at its first use: what the caches answer needs none. */
export type Fork = () => EntityManager;

/** What the kernel knows of an organisation; a feature knows more. */
export interface OrganizationRef {
  readonly id: number;
  readonly machine_name: string;
}

/** What the kernel knows of a project; a feature knows more. */
export interface ProjectRef {
  readonly id: number;
  readonly uuid: string;
  readonly organization_id: number;
  readonly machine_name: string;
}

/** Where a call acts, resolved once. */
export interface Place {
  organization: OrganizationRef | null;
  project: ProjectRef | null;
  grant: Grant | null;
}

/** Finds where a call acts by the names of its input. */
export interface Places {
  /** @throws DomainError `invalid_request` for a name that cannot be one, `not_found` for one of nothing */
  organization(em: Fork, name: unknown): Promise<OrganizationRef>;
  /** @throws DomainError `not_found`, also for a name that cannot be one */
  project(em: Fork, organization: OrganizationRef, name: unknown): Promise<ProjectRef>;
}

/** Whose rights, or whose names and projects. */
export type RightsOf = `organization:${number}` | `user:${number}`;

/** What this process remembers of rights and names. */
export interface Grants {
  /** Forgets all that depends on the rights of one organisation or user. */
  evict(subject: RightsOf): void;
  /** Whose rights the transaction of a manager has changed. */
  changedIn(em: EntityManager): Iterable<RightsOf>;
  /** Waits until no other transaction gives or takes rights in organisations, and keeps others waiting until the one of `em` ends. */
  hold(em: EntityManager, organizations: readonly number[]): Promise<void>;
}

export type AuditOutcome = 'ok' | 'denied' | 'failed';

/** What an audit row says of a command: the kind and id of its subject. */
export interface AuditSubject {
  type: string;
  id: string | null;
  /** How it ended, where a command that ran did not do all that was wanted; default `ok`. */
  outcome?: AuditOutcome;
}

/** What is kept of one command. */
export interface AuditEntry {
  at: Date;
  actor: string;
  address: string | null;
  request_id: string;
  action: string;
  organization_id: number | null;
  project_id: number | null;
  subject: AuditSubject;
  outcome: AuditOutcome;
  input: Record<string, unknown>;
  /** The commit a content command made. */
  commit?: string;
}

/** Where commands leave their rows. */
export interface AuditLog {
  /** Writes a row in the transaction of `em` when there is one. */
  record(em: EntityManager, entry: AuditEntry): Promise<void>;
  /** Writes the row of what is already durable outside the database; a database that is away delays the row, not the answer. */
  recordSoon(entry: AuditEntry): Promise<void>;
}

/** One call's use of an idempotency key: either an earlier answer to repeat, or the duty to store its own. */
export interface IdempotencyClaim {
  replay: { output: unknown; etag: string | null } | null;
  /** @param within the transaction of the command: what it has done and its answer are durable together, or neither is */
  complete(answer: { output: unknown; etag: string | undefined }, within?: EntityManager): Promise<void>;
  /** After a refusal or a fault: the key is free again. */
  release(): Promise<void>;
}

/** Repeats the answer of a command that is sent again (draft Idempotency-Key). */
export interface Idempotency {
  /** @throws DomainError `idempotency_mismatch` when the key was used for another input, `busy` while the first call still runs */
  claim(call: {
    actor: string;
    operation: string;
    /** What the operation acts in, by an identifier that no other ever gets. */
    place: string;
    key: string;
    input: unknown;
  }): Promise<IdempotencyClaim>;
}

/** Which commands have a transaction; the others wait. */
export interface Transactions {
  /** @throws DomainError `unavailable` after ten seconds */
  run<Result>(caller: { actor: string; organization: number | null }, work: () => Promise<Result>): Promise<Result>;
}

/** What every operation reaches: the ports, and what the kernel itself needs of features. A feature adds its own runtime. */
export interface Services extends Ports {
  /** Requests of clients, to which background work gives way. */
  activity: Activity;
  places: Places;
  grants: Grants;
  audit: AuditLog;
  idempotency: Idempotency;
  transactions: Transactions;
}

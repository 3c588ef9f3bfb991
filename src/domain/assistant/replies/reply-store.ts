/**
 * What is stored of a reply, by the process that has it: a lease on the conversation, which names the attempt in every write. A process whose lease
 * has passed to another one writes nothing.
 */
import { randomUUID } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../kernel/sql.ts';
import type { EventSubject } from '../../../ports/event-feed.ts';
import type { IdentityServices } from '../../identity/authenticate.ts';
import type { StudioServices } from '../../studio/studio.ts';
import { releaseDead } from '../budget.ts';
import { AssistantCall, AssistantMessage, Conversation } from '../conversation.entity.ts';
import type { LiveTexts } from './live-texts.ts';

/** What replies need of the process. */
export type ReplyServices = StudioServices & IdentityServices;

/** Milliseconds: how long a process that shows no life keeps a reply, and how often it shows life. */
export const lease = { length: 20_000, renewal: 4_000 };

/** What is watched of a conversation. */
export const conversationSubject = ({ id, project_id }: Pick<Conversation, 'id' | 'project_id'>): EventSubject => ({
  project_id,
  topic: `conversation:${id}`,
});

/** Another process has the reply. */
export class Fenced extends Error {}

// Leases go by the clock that all processes share.
const writeSql = `
  update assistant_conversation set version = version + 1, updated_at = $4, lease_until = $5, state = $6, problem = $7, branch = $8, base = $9,
    tokens = $10, steps = $11, active_ms = $12, problem_code = $13, holder = case when $6 = 'running' then holder end,
    stop_requested = stop_requested and $6 = 'running'
  where id = $1 and attempt = $2 and holder = $3 returning version`;

/** Of a text in progress, in one statement: the lease is renewed apart from it. */
const saveTextSql = `
  with held as (
    update assistant_conversation set version = version + 1, updated_at = $4 where id = $1 and attempt = $2 and holder = $3 returning id, version)
  update assistant_message set text = $6, version = held.version from held where conversation_id = held.id and number = $5 returning held.version`;

const claimSql = `
  update assistant_conversation set holder = $2, attempt = attempt + 1, lease_until = $4
  where id = $1 and state = 'running' and (holder is null or lease_until < $3) returning id`;

/** A conversation whose reply this process has. */
export class ReplyStore {
  readonly row: Conversation;
  readonly #services: ReplyServices;
  readonly #texts: LiveTexts;
  readonly #holder: string;
  #messages: AssistantMessage[] = [];
  #calls: AssistantCall[] = [];
  #began = performance.now();

  private constructor(services: ReplyServices, texts: LiveTexts, holder: string, row: Conversation) {
    this.#services = services;
    this.#texts = texts;
    this.#holder = holder;
    this.row = row;
  }

  /** @returns null when another process has the reply, or there is nothing to do */
  static async claim(services: ReplyServices, texts: LiveTexts, id: string): Promise<ReplyStore | null> {
    const em = services.orm.em.fork();
    const holder = randomUUID();
    const now = await services.sharedClock.now(em);
    const until = new Date(now.getTime() + lease.length);
    return em.transactional(async (within) => {
      if ((await executeBound(within, claimSql, [id, holder, now, until])).length === 0) return null;
      await releaseDead(within, [id]);
      const row = (await within.findOne(Conversation, { id }, { disableIdentityMap: true })) as Conversation | null;
      return row && new ReplyStore(services, texts, holder, row);
    });
  }

  /** Counts the time of the reply from now on, behind what earlier processes have counted. */
  begin(): void {
    this.#began = performance.now() - this.row.active_ms;
  }

  /** Gives the lease up, if this process still has it. */
  async release(): Promise<void> {
    const { id, attempt } = this.row;
    const em = this.#services.orm.em.fork();
    await em
      .nativeUpdate(Conversation, { id, attempt, holder: this.#holder }, { holder: null })
      .catch((err: unknown) => this.#services.log.warn({ err }, 'a reply is taken up when its lease has ended'));
  }

  /**
   * Renews the lease.
   * @returns whether the reply is to stop
   * @throws Fenced when another process has the reply
   */
  async renew(): Promise<boolean> {
    const until = new Date(this.#services.sharedClock.recent().getTime() + lease.length);
    const [row] = await executeBound<{ stop_requested: boolean }>(
      this.#services.orm.em.fork(),
      'update assistant_conversation set lease_until = $4 where id = $1 and attempt = $2 and holder = $3 returning stop_requested',
      [this.row.id, this.row.attempt, this.#holder, until],
    );
    if (!row) throw new Fenced();
    return row.stop_requested;
  }

  /**
   * Writes to the conversation and its rows in one transaction.
   * @throws Fenced when another process has the reply
   */
  async write(changes: Partial<Conversation>, work?: (em: EntityManager, version: number) => Promise<unknown>) {
    const { orm, events, clock, sharedClock } = this.#services;
    Object.assign(this.row, changes, { active_ms: Math.round(performance.now() - this.#began) });
    const { id, attempt, state, problem, problem_code, branch, base, tokens, steps, active_ms } = this.row;
    const until = state === 'running' ? new Date(sharedClock.recent().getTime() + lease.length) : null;
    await orm.em.fork().transactional(async (em) => {
      const values = [
        id,
        attempt,
        this.#holder,
        clock.now(),
        until,
        state,
        problem,
        branch,
        base,
        tokens,
        steps,
        active_ms,
        problem_code && JSON.stringify(problem_code),
      ];
      const [written] = await executeBound<{ version: number }>(em, writeSql, values);
      if (!written) throw new Fenced();
      await work?.(em, written.version);
      await events.announce(em, conversationSubject(this.row));
      this.row.version = written.version;
    });
    const live = this.#texts.get(id);
    if (live) live.since = this.row.version;
    this.#texts.wake(id);
  }

  /**
   * Stores what has come of a message. Subscribers of this process have it already.
   * @throws Fenced when another process has the reply
   */
  async saveText(number: number, text: string): Promise<void> {
    const { orm, events, clock } = this.#services;
    const em = orm.em.fork();
    const { id, attempt, version } = this.row;
    const values = [id, attempt, this.#holder, clock.now(), number, text];
    const [written] = await executeBound<{ version: number }>(em, saveTextSql, values);
    if (!written) throw new Fenced();
    this.row.version = written.version;
    const live = this.#texts.get(id);
    // A person has renamed it meanwhile, say.
    if (live && written.version !== version + 1) live.since = written.version;
    await events.announce(em, conversationSubject(this.row));
  }

  /** Reads what was written since the last time: a row has the version of its last write, and versions are counted under the conversation's lock. */
  async readOn() {
    const em = this.#services.orm.em.fork();
    const behind = (known: readonly { version: number }[]) => ({
      conversation_id: this.row.id,
      version: { $gt: known.reduce((most, { version }) => Math.max(most, version), 0) },
    });
    const plain = { disableIdentityMap: true } as const;
    const messages = await em.find(AssistantMessage, behind(this.#messages), plain);
    const calls = await em.find(AssistantCall, behind(this.#calls), plain);
    this.#messages = merged(this.#messages, messages as AssistantMessage[], ({ number }) => number).sort(
      (one, other) => one.number - other.number,
    );
    this.#calls = merged(this.#calls, calls as AssistantCall[], ({ id }) => id).sort(
      (one, other) => one.message - other.message || one.place - other.place,
    );
    return { messages: this.#messages, calls: this.#calls };
  }
}

/** Rows as they are after newer reads of some of them. */
function merged<Row>(known: readonly Row[], news: readonly Row[], keyOf: (row: Row) => unknown): Row[] {
  const changed = new Set(news.map(keyOf));
  return [...known.filter((row) => !changed.has(keyOf(row))), ...news];
}

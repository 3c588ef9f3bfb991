/** The replies of a process: those it has, and those it finds without a process. */
import { executeBound } from '../../../kernel/sql.ts';
import { type FairSlots, sharedSlots } from '../../../lib/fair-queue.ts';
import { releaseDead } from '../budget.ts';
import { Conversation } from '../conversation.entity.ts';
import { LiveTexts } from './live-texts.ts';
import { Reply, type ReplyLimits } from './reply.ts';
import { Fenced, type ReplyServices } from './reply-store.ts';

const usualLimits = { steps: 40, time: 600_000, sameCalls: 3, badCalls: 5, calls: 32 };

/** How often replies without a process are looked for, milliseconds. */
const lookEvery = 5_000;

/** Replies of one person that wait in a process, and all it looks for at once. Those beyond are found when these have begun. */
const mostWaiting = { person: 10, all: 1_000 };

/** Who waits for the model of which organisation. */
export type ModelCaller = Pick<Conversation, 'user_id' | 'organization_id'>;

const keysOf = ({ user_id, organization_id }: ModelCaller) =>
  [`person ${user_id}`, `organization ${organization_id}`] as const;

/** Places of people whose model is awaited, shared by person and organisation: an organisation's own model may take its time. */
export const modelSlots = (most: number): FairSlots<ModelCaller> => sharedSlots(most, keysOf);

/** A conversation that is to get a reply. */
type Open = ModelCaller & Pick<Conversation, 'id'>;

/** The oldest of each person first. */
const openSql = `
  select id, user_id, organization_id from (
    select id, user_id, organization_id, updated_at, row_number() over (partition by user_id order by updated_at) as place
    from assistant_conversation where state = 'running' and (holder is null or lease_until < $1)) as open
  where place <= $2 order by place, updated_at limit $3`;

/** Those whose process has died within a step. One that is being taken up just now is left to that. */
const deadSql = `
  select conversation.id from assistant_conversation as conversation
    join assistant_reservation as reservation on reservation.conversation_id = conversation.id
  where state = 'running' and (holder is null or lease_until < $1) for update of conversation skip locked`;

/** The replies of a process. */
export class Replies {
  readonly #services: () => ReplyServices;
  readonly #limits: ReplyLimits;
  readonly #places: FairSlots<ModelCaller>;
  /** With the waiting ones. */
  readonly #known = new Map<string, { reply: Reply | null; done: Promise<void> }>();
  readonly texts = new LiveTexts();
  #timer: NodeJS.Timeout | undefined;
  readonly #closing = new AbortController();

  constructor(services: () => ReplyServices, limits: Pick<ReplyLimits, 'parallel'> & Partial<ReplyLimits>) {
    this.#services = services;
    this.#limits = { ...usualLimits, ...limits };
    this.#places = modelSlots(limits.parallel);
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Begins, or takes up, the reply of a conversation once there is a place for it. */
  start(conversation: Open): void {
    const { id } = conversation;
    if (this.#isClosed || this.#known.has(id)) return;
    if (this.#places.waiting(keysOf(conversation)[0]) >= mostWaiting.person) return;
    const entry: { reply: Reply | null; done: Promise<void> } = { reply: null, done: Promise.resolve() };
    this.#known.set(id, entry);
    entry.done = this.#run(conversation, entry);
  }

  async #run(conversation: Open, entry: { reply: Reply | null }): Promise<void> {
    const { id } = conversation;
    try {
      const release = await this.#places.take(conversation, this.#closing.signal);
      try {
        entry.reply = await Reply.claim({ services: this.#services(), texts: this.texts, limits: this.#limits }, id);
        if (this.#isClosed) entry.reply?.stop(new Fenced());
        await entry.reply?.run();
      } finally {
        release();
      }
    } catch (err) {
      if (!(err instanceof Fenced))
        this.#services().log.error({ err, conversation: id }, 'a reply of the assistant was not taken up');
    } finally {
      this.#known.delete(id);
      if (this.#timer) void this.look();
    }
  }

  /** Ends a reply, if this process has it; another one finds that it is to end. */
  stop(id: string): void {
    this.#known.get(id)?.reply?.stop();
  }

  /** Looks for replies from now on that no process has. @param isAlone no other process can be at them */
  async begin(isAlone: boolean): Promise<void> {
    this.#timer = setInterval(() => void this.look(), lookEvery);
    try {
      if (isAlone) {
        const em = this.#services().orm.em.fork();
        await em.nativeUpdate(Conversation, { state: 'running' }, { holder: null });
      }
      await this.look();
    } catch (err) {
      this.#services().log.warn({ err }, 'replies that were left are looked for within seconds');
    }
  }

  async look(): Promise<void> {
    if (this.#isClosed) return;
    try {
      const { orm, sharedClock } = this.#services();
      const em = orm.em.fork();
      const now = await sharedClock.now(em);
      // Of all of them before the first is taken up: it may need what the others will not use.
      await em.transactional(async (within) => {
        const dead = await executeBound<{ id: string }>(within, deadSql, [now]);
        const ids = dead.map(({ id }) => id);
        if (ids.length > 0) await releaseDead(within, ids);
      });
      const rows = await executeBound<Open>(em, openSql, [now, mostWaiting.person, mostWaiting.all]);
      for (const row of rows) this.start(row);
    } catch (err) {
      this.#services().log.warn({ err }, 'replies without a process were not found');
    }
  }

  /** Resolves when no reply is under way here, nor waits to be. */
  async settled(): Promise<void> {
    while (this.#known.size > 0) await Promise.all([...this.#known.values()].map(({ done }) => done));
  }

  /** Leaves replies to the next process. */
  async close(): Promise<void> {
    this.#closing.abort(new Fenced());
    clearInterval(this.#timer);
    for (const { reply } of this.#known.values()) reply?.stop(new Fenced());
    await this.settled();
  }
}

/** The replies of a process: those it has, and those it finds without a process. */
import { executeBound } from '../../../kernel/sql.ts';
import { Conversation } from '../conversation.entity.ts';
import { LiveTexts } from './live-texts.ts';
import { Reply, type ReplyLimits } from './reply.ts';
import { Fenced, type ReplyServices } from './reply-store.ts';

const usualLimits = { steps: 40, time: 600_000, sameCalls: 3, badCalls: 5, calls: 32 };

/** How often replies without a process are looked for, milliseconds. */
const lookEvery = 5_000;

/** The replies of a process. */
export class Replies {
  readonly #services: () => ReplyServices;
  readonly #limits: ReplyLimits;
  readonly #running = new Map<string, { reply: Reply | null; done: Promise<void> }>();
  readonly texts = new LiveTexts();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(services: () => ReplyServices, limits: Pick<ReplyLimits, 'parallel'> & Partial<ReplyLimits>) {
    this.#services = services;
    this.#limits = { ...usualLimits, ...limits };
  }

  /** Begins, or takes up, the reply of a conversation if there is room; otherwise it is found when there is. */
  start(id: string): void {
    if (this.#isClosed || this.#running.has(id) || this.#running.size >= this.#limits.parallel) return;
    const entry: { reply: Reply | null; done: Promise<void> } = { reply: null, done: Promise.resolve() };
    this.#running.set(id, entry);
    entry.done = this.#run(id, entry);
  }

  async #run(id: string, entry: { reply: Reply | null }): Promise<void> {
    try {
      entry.reply = await Reply.claim({ services: this.#services(), texts: this.texts, limits: this.#limits }, id);
      if (this.#isClosed) entry.reply?.stop(new Fenced());
      await entry.reply?.run();
    } catch (err) {
      this.#services().log.error({ err, conversation: id }, 'a reply of the assistant was not taken up');
    } finally {
      this.#running.delete(id);
      if (this.#timer) void this.look();
    }
  }

  /** Ends a reply, if this process has it; another one finds that it is to end. */
  stop(id: string): void {
    this.#running.get(id)?.reply?.stop();
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
    const room = this.#limits.parallel - this.#running.size;
    if (this.#isClosed || room <= 0) return;
    try {
      const { orm, sharedClock } = this.#services();
      const em = orm.em.fork();
      const rows = await executeBound<{ id: string }>(
        em,
        `select id from assistant_conversation where state = 'running' and (holder is null or lease_until < $1) order by updated_at limit $2`,
        [await sharedClock.now(em), room],
      );
      for (const { id } of rows) this.start(id);
    } catch (err) {
      this.#services().log.warn({ err }, 'replies without a process were not found');
    }
  }

  /** Resolves when no reply is under way here. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** Leaves replies to the next process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const { reply } of this.#running.values()) reply?.stop(new Fenced());
    await this.settled();
  }
}

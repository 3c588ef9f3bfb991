/**
 * How the assistant replies: steps of the model, one at a time, until one calls no tool. What a step says and calls is stored before a call runs,
 * and a call's result before the next step, so a reply that was cut off goes on in another process: reads and steps of the model may repeat, a
 * command is looked for by what it has left before it runs again. A reply is a process's by a lease, and every write names the attempt; a process
 * whose lease has passed to another one changes nothing. While a person decides about a call, no process has it.
 */
import { randomUUID } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../kernel/errors.ts';
import { executeBound } from '../../kernel/sql.ts';
import { uuid7 } from '../../lib/ids.ts';
import type { EventSubject } from '../../ports/event-feed.ts';
import { type Model, ModelFault, type ModelPart } from '../../ports/model.ts';
import { authenticateHolder, type IdentityServices } from '../identity/authenticate.ts';
import { Organization } from '../organizations/organization.entity.ts';
import { loadProject } from '../projects/project-ref.ts';
import type { StudioServices } from '../studio/studio.ts';
import { releaseTokens, reserveTokens } from './budget.ts';
import { changesSomething } from './call-tool.ts';
import { AssistantCall, AssistantMessage, Conversation } from './conversation.entity.ts';
import { type Calling, type CallOutcome, hashOf, modelTools, runCall, untouchedBranch } from './conversation-tools.ts';
import { LiveTexts } from './live-texts.ts';
import { closeModel, openModel } from './model.operations.ts';
import { estimateTokens, historyOf, systemPrompt } from './prompt.ts';
import { tools } from './tools.ts';

/** What replies need of the process. */
export type ReplyServices = StudioServices & IdentityServices;

export interface ReplyLimits {
  /** Replies of a process at the same time. */
  parallel: number;
  /** Steps of the model for one message of the person. */
  steps: number;
  /** Milliseconds, waiting for a person aside. */
  time: number;
  /** The same call in a row of reads, and calls with bad arguments one after another. */
  sameCalls: number;
  badCalls: number;
  /** Calls of one step. */
  calls: number;
}

const usualLimits = { steps: 40, time: 600_000, sameCalls: 3, badCalls: 5, calls: 32 };

/** Milliseconds: how long a process that shows no life keeps a reply, and how often it shows life. */
const lease = { length: 20_000, renewal: 4_000 };
/** How often replies without a process are looked for, and a text in progress is stored. */
const every = { look: 5_000, save: 1_000 };
/** How long consent can be given, milliseconds. */
const consentLasts = 24 * 3600_000;

/** What is watched of a conversation. */
export const conversationSubject = ({ id, project_id }: Pick<Conversation, 'id' | 'project_id'>): EventSubject => ({
  project_id,
  topic: `conversation:${id}`,
});

/** Ends a reply with a sentence for the person. */
class Ended extends Error {}
/** Another process has the reply. */
class Fenced extends Error {}

// Leases go by the clock that all processes share.
const writeSql = `
  update assistant_conversation set version = version + 1, updated_at = $4, lease_until = $5, state = $6, problem = $7, branch = $8, base = $9,
    tokens = $10, steps = $11, active_ms = $12, holder = case when $6 = 'running' then holder end,
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

/** One reply in this process. */
class Reply {
  readonly #services: ReplyServices;
  readonly #texts: LiveTexts;
  readonly #limits: ReplyLimits;
  readonly #holder: string;
  readonly #row: Conversation;
  readonly #place: Calling['place'];
  readonly #tokenLimit: number | null;
  readonly #stop = new AbortController();
  /** What is stored of the conversation, as far as it was read. */
  #messages: AssistantMessage[] = [];
  #calls: AssistantCall[] = [];
  /** Open from the first step on. */
  #model: Model | null = null;
  #began = performance.now();

  private constructor(
    services: ReplyServices,
    texts: LiveTexts,
    limits: ReplyLimits,
    {
      holder,
      row,
      place,
      tokenLimit,
    }: { holder: string; row: Conversation; place: Calling['place']; tokenLimit: number | null },
  ) {
    this.#services = services;
    this.#texts = texts;
    this.#limits = limits;
    this.#holder = holder;
    this.#row = row;
    this.#place = place;
    this.#tokenLimit = tokenLimit;
  }

  /** @returns null when another process has it, or there is nothing to do */
  static async claim(
    services: ReplyServices,
    texts: LiveTexts,
    limits: ReplyLimits,
    id: string,
  ): Promise<Reply | null> {
    const em = services.orm.em.fork();
    const holder = randomUUID();
    const now = await services.sharedClock.now(em);
    const until = new Date(now.getTime() + lease.length);
    if ((await executeBound(em, claimSql, [id, holder, now, until])).length === 0) return null;
    const row = (await em.findOne(Conversation, { id }, { disableIdentityMap: true })) as Conversation | null;
    const project = row && (await loadProject(em, { id: row.project_id }));
    const organization = project && (await em.findOne(Organization, { id: project.organization_id, deleted_at: null }));
    // Of a project that is deleted it is left alone: that may come back.
    if (!row || !project || !organization) return null;
    const place = { organization: organization.machine_name, project: project.machine_name, uuid: project.uuid };
    const tokenLimit = organization.limits.assistant_tokens_month ?? null;
    return new Reply(services, texts, limits, { holder, row, place, tokenLimit });
  }

  stop(reason: Error = new Ended('Stopped')): void {
    this.#stop.abort(reason);
  }

  async run(): Promise<void> {
    const beat = setInterval(() => void this.#renew(), lease.renewal);
    const over = () => this.stop(new Ended('The reply was ended after 10 minutes; write “go on” to continue'));
    const left = this.#limits.time - this.#row.active_ms;
    const time = setTimeout(over, left);
    if (left <= 0) over();
    this.#began = performance.now() - this.#row.active_ms;
    const { id, project_id, user_id, version: since } = this.#row;
    this.#texts.begin(id, { project_id, user_id, since, message: null, text: '' });
    try {
      if (this.#row.stop_requested) throw new Ended('Stopped');
      while (await this.#advance());
    } catch (error) {
      const reason = this.#stop.signal.aborted ? this.#stop.signal.reason : error;
      // Left to another process, which goes on where the rows are.
      if (reason instanceof Fenced) await this.#release();
      else await this.#end(this.#sentenceOf(reason));
    } finally {
      clearInterval(beat);
      clearTimeout(time);
      this.#texts.end(id);
      await closeModel(this.#services, this.#model);
    }
  }

  /** Gives the lease up, if this process still has it. */
  async #release(): Promise<void> {
    const { id, attempt } = this.#row;
    const em = this.#services.orm.em.fork();
    await em
      .nativeUpdate(Conversation, { id, attempt, holder: this.#holder }, { holder: null })
      .catch((err: unknown) => this.#services.log.warn({ err }, 'a reply is taken up when its lease has ended'));
  }

  #sentenceOf(error: unknown): string {
    if (error instanceof Ended || error instanceof ModelFault || error instanceof DomainError) return error.message;
    this.#services.log.error({ err: error, conversation: this.#row.id }, 'a reply of the assistant failed');
    return 'The reply failed for a reason of the server; the log has it. Try again';
  }

  /** Shows life, and looks whether the reply is to end. */
  async #renew(): Promise<void> {
    try {
      const until = new Date(this.#services.sharedClock.recent().getTime() + lease.length);
      const rows = await executeBound<{ stop_requested: boolean }>(
        this.#services.orm.em.fork(),
        'update assistant_conversation set lease_until = $4 where id = $1 and attempt = $2 and holder = $3 returning stop_requested',
        [this.#row.id, this.#row.attempt, this.#holder, until],
      );
      if (rows.length === 0) this.stop(new Fenced());
      else if (rows[0]?.stop_requested) this.stop();
    } catch (err) {
      this.#services.log.warn({ err }, 'the lease of a reply was not renewed');
    }
  }

  /**
   * Writes to the conversation and its rows in one transaction.
   * @throws Fenced when another process has the reply
   */
  async #write(changes: Partial<Conversation>, work?: (em: EntityManager, version: number) => Promise<unknown>) {
    const { orm, events, clock, sharedClock } = this.#services;
    Object.assign(this.#row, changes, { active_ms: Math.round(performance.now() - this.#began) });
    const { id, attempt, state, problem, branch, base, tokens, steps, active_ms } = this.#row;
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
      ];
      const [written] = await executeBound<{ version: number }>(em, writeSql, values);
      if (!written) throw new Fenced();
      await work?.(em, written.version);
      await events.announce(em, conversationSubject(this.#row));
      this.#row.version = written.version;
    });
    const live = this.#texts.get(id);
    if (live) live.since = this.#row.version;
    this.#texts.wake(id);
  }

  /**
   * Stores what has come of a message. Subscribers of this process have it already.
   * @throws Fenced when another process has the reply
   */
  async #saveText(number: number, text: string): Promise<void> {
    const { orm, events, clock } = this.#services;
    const em = orm.em.fork();
    const { id, attempt, version } = this.#row;
    const values = [id, attempt, this.#holder, clock.now(), number, text];
    const [written] = await executeBound<{ version: number }>(em, saveTextSql, values);
    if (!written) throw new Fenced();
    this.#row.version = written.version;
    const live = this.#texts.get(id);
    // A person has renamed it meanwhile, say.
    if (live && written.version !== version + 1) live.since = written.version;
    await events.announce(em, conversationSubject(this.#row));
  }

  async #end(problem: string | null): Promise<void> {
    try {
      const of = { conversation_id: this.#row.id };
      const { branch } = this.#row;
      const toLog = (err: unknown) => {
        this.#services.log.warn({ err, branch }, 'a branch without changes stays');
        return null;
      };
      const remove = await this.#unusedBranch().catch(toLog);
      await this.#write({ state: 'idle', problem, ...(remove && { branch: null }) }, async (em, version) => {
        const open = { $in: ['pending', 'waiting', 'approved'] as const };
        await em.nativeUpdate(AssistantCall, { ...of, state: open }, { state: 'stopped', version });
        const result = JSON.stringify({ error: 'unknown', message: unknownEnd });
        await em.nativeUpdate(AssistantCall, { ...of, state: 'running' }, { state: 'failed', result, version });
      });
      await remove?.().catch(toLog);
    } catch (err) {
      if (!(err instanceof Fenced)) this.#services.log.error({ err }, 'the end of a reply was not stored');
    }
  }

  /** What removes the conversation's branch where no call has changed anything there: what a person has refused leaves no draft behind. */
  async #unusedBranch() {
    const made = { conversation_id: this.#row.id, commit_sha: { $ne: null } };
    if (this.#row.branch === null || (await this.#services.orm.em.fork().count(AssistantCall, made)) > 0) return null;
    return untouchedBranch({ services: this.#services, place: this.#place }, this.#row);
  }

  /** Reads what was written since the last time: a row has the version of its last write, and versions are counted under the conversation's lock. */
  async #readOn() {
    const em = this.#services.orm.em.fork();
    const behind = (known: readonly { version: number }[]) => ({
      conversation_id: this.#row.id,
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

  /** @returns whether there is more to do */
  async #advance(): Promise<boolean> {
    this.#stop.signal.throwIfAborted();
    const { messages, calls } = await this.#readOn();
    const last = messages.at(-1);
    const isComplete = last?.role === 'assistant' && last.complete;
    const open = isComplete ? calls.filter(({ message, result }) => message === last.number && result === null) : [];
    if (open.length > 0) return this.#runCalls(open, recentCalls(messages, calls));
    if (isComplete && !calls.some(({ message }) => message === last.number)) {
      await this.#end(null);
      return false;
    }
    if (this.#row.steps >= this.#limits.steps)
      throw new Ended(`The reply was ended after ${this.#limits.steps} steps; write “go on” to continue`);
    await this.#step(messages, calls);
    return true;
  }

  /** The person, with the rights they have now. @throws Ended when they may not be here any more */
  async #person() {
    const { organization_id, project_id, user_id } = this.#row;
    const actor = await authenticateHolder(this.#services, `user:${user_id}`);
    const grant = actor?.grantFor(organization_id);
    const isHere = grant?.permissions.has('browse_studio') && (grant.projects?.has(project_id) ?? true);
    if (!actor || !isHere) throw new Ended('You have no access to this project any more');
    return actor;
  }

  async #runCalls(open: readonly AssistantCall[], recent: readonly AssistantCall[]): Promise<boolean> {
    for (const call of open) {
      this.#stop.signal.throwIfAborted();
      if (call.state === 'waiting') {
        await this.#write({ state: 'waiting' });
        return false;
      }
      this.#refuseLoops(call, recent);
      const outcome = await runCall(
        {
          services: this.#services,
          actor: await this.#person(),
          conversation: this.#row,
          place: this.#place,
          signal: this.#stop.signal,
          begin: (head_before) =>
            this.#write({}, (em, version) =>
              em.nativeUpdate(AssistantCall, { id: call.id }, { state: 'running', head_before, version }),
            ),
        },
        call,
      );
      if (await this.#keep(call, outcome)) return false;
    }
    return true;
  }

  /** @returns whether a person has to decide first */
  async #keep(call: AssistantCall, outcome: CallOutcome): Promise<boolean> {
    if (outcome.state === 'waiting') {
      const { phrase, holds } = outcome;
      const expires_at = new Date(this.#services.clock.now().getTime() + consentLasts);
      await this.#write({ state: 'waiting' }, (em, version) =>
        em.nativeUpdate(AssistantCall, { id: call.id }, { state: 'waiting', phrase, holds, expires_at, version }),
      );
      return true;
    }
    const { state, result } = outcome;
    const more = outcome.state === 'done' ? { link: outcome.link, commit_sha: outcome.commit } : {};
    Object.assign(call, { state, result });
    await this.#write({}, (em, version) =>
      em.nativeUpdate(AssistantCall, { id: call.id }, { state, result, ...more, version }),
    );
    return false;
  }

  /** @throws Ended for a model that repeats itself */
  #refuseLoops(call: AssistantCall, recent: readonly AssistantCall[]): void {
    const earlier = recent.slice(
      0,
      recent.findIndex(({ id }) => id === call.id),
    );
    const isChange = ({ tool, state }: AssistantCall) => state === 'done' && changingTools.has(tool);
    // What was read before a change may be read again after it.
    const since = earlier.slice(earlier.findLastIndex(isChange) + 1);
    const same = since.filter(({ arguments_hash }) => arguments_hash === call.arguments_hash).length;
    if (same + 1 >= this.#limits.sameCalls)
      throw new Ended(`The model has made the same call of ${call.tool} ${same + 1} times, and was stopped`);
    const good = earlier.findLastIndex(({ state, result }) => state !== 'failed' || !isBadResult(result));
    if (earlier.length - 1 - good >= this.#limits.badCalls)
      throw new Ended(
        `The model has made ${this.#limits.badCalls} calls with wrong arguments in a row, and was stopped`,
      );
  }

  /** One step of the model: its text and its calls become rows. */
  async #step(messages: readonly AssistantMessage[], calls: readonly AssistantCall[]): Promise<void> {
    const { clock, orm } = this.#services;
    await this.#person();
    this.#model ??= await openModel(this.#services, orm.em.fork(), this.#row.organization_id);
    const model = this.#model;
    const cut = messages.at(-1);
    const isRepeated = cut?.role === 'assistant' && !cut.complete;
    const kept = isRepeated ? messages.slice(0, -1) : messages;
    const number = (kept.at(-1)?.number ?? 0) + 1;
    const request = {
      system: systemPrompt(this.#row, this.#place),
      messages: historyOf(kept, calls),
      tools: modelTools(),
      signal: this.#stop.signal,
    };
    const asked = estimateTokens(JSON.stringify(request.messages).length + request.system.length + toolLength());
    const reserved = asked + model.maxTokens;
    const budget = { ...this.#row, limit: this.#tokenLimit, now: clock.now() };
    await reserveTokens(this.#services.orm.em.fork(), budget, reserved);
    const tokensBefore = this.#row.tokens;
    const live = { project_id: this.#row.project_id, user_id: this.#row.user_id, message: number, text: '' };
    this.#texts.begin(this.#row.id, { ...live, since: this.#row.version });
    const row = { conversation_id: this.#row.id, number, role: 'assistant' as const, context: null };
    await this.#write({ tokens: tokensBefore + reserved }, (em, version) =>
      em.upsert(AssistantMessage, { ...row, text: '', complete: false, version, created_at: clock.now() }),
    );
    let text = '';
    let saved = performance.now();
    let saving = Promise.resolve();
    const made: Extract<ModelPart, { kind: 'call' }>['call'][] = [];
    let end: Extract<ModelPart, { kind: 'end' }> | null = null;
    let used = reserved;
    const save = (
      complete: boolean,
      changes: Partial<Conversation> = {},
      work?: (em: EntityManager, version: number) => Promise<void>,
    ) =>
      this.#write(changes, async (em, version) => {
        await em.nativeUpdate(
          AssistantMessage,
          { conversation_id: row.conversation_id, number },
          { text, complete, version },
        );
        await work?.(em, version);
      });
    try {
      for await (const part of model.step(request)) {
        if (part.kind === 'text') {
          const piece = storable(part.text);
          text += piece;
          this.#texts.append(this.#row.id, piece);
          if (performance.now() - saved > every.save) {
            saved = Number.POSITIVE_INFINITY;
            saving = this.#saveText(number, text)
              .catch((error: Error) => this.stop(error))
              .then(() => {
                saved = performance.now();
              });
          }
        } else if (part.kind === 'call') made.push(part.call);
        else end = part;
      }
      await saving;
      this.#stop.signal.throwIfAborted();
      if (made.length > this.#limits.calls)
        throw new ModelFault(
          'malformed',
          `The model has called ${made.length} tools at once; ${this.#limits.calls} are the most`,
        );
      used = end?.usage
        ? end.usage.input + end.usage.output
        : asked + estimateTokens(text.length + JSON.stringify(made).length);
      if (end?.reason === 'length' && made.length === 0)
        throw new ModelFault(
          'too_long',
          'The answer has reached the most tokens it may have; write “go on” to continue',
        );
      // After its calls a model may have nothing more to say.
      if (end?.reason === 'done' && made.length === 0 && text.trim() === '' && this.#row.steps === 0)
        throw new ModelFault('malformed', 'The model has answered nothing; try again');
      if (end?.reason === 'refused')
        throw new ModelFault('refused', 'The provider of the model has withheld the answer');
      await save(true, { tokens: tokensBefore + used, steps: this.#row.steps + 1 }, async (em, version) => {
        for (const [place, { id: reference, name, arguments: given }] of made.entries())
          await em.insert(AssistantCall, {
            ...{ id: uuid7(clock.now()), conversation_id: row.conversation_id, message: number, place },
            ...{ reference: storable(reference).slice(0, 200), tool: storable(name).slice(0, 200) },
            arguments: storable(given).slice(0, 2_000_000),
            ...{ arguments_hash: hashOf(name, given), state: 'pending', version, created_at: clock.now() },
            ...{
              result: null,
              link: null,
              phrase: null,
              holds: null,
              expires_at: null,
              decided_by: null,
              decided_at: null,
            },
            ...{ head_before: null, commit_sha: null, undone_sha: null },
          });
      });
    } catch (error) {
      await saving;
      // What has come stays, marked as cut off; its tokens are estimated upward.
      used = error instanceof ModelFault && error.isUnanswered ? 0 : asked + estimateTokens(text.length);
      if (!(error instanceof Fenced)) await save(false, { tokens: tokensBefore + used }).catch(() => {});
      throw error;
    } finally {
      await releaseTokens(this.#services.orm.em.fork(), budget, reserved - used).catch((err: unknown) =>
        this.#services.log.warn({ err }, 'tokens that were reserved stay counted'),
      );
    }
  }
}

/** Rows with those that have come or changed since. */
function merged<Row>(known: readonly Row[], news: readonly Row[], keyOf: (row: Row) => unknown): Row[] {
  const changed = new Set(news.map(keyOf));
  return [...known.filter((row) => !changed.has(keyOf(row))), ...news];
}

/** Of a command whose answer was lost. */
const unknownEnd = 'It is not known whether this was done: look before you call it again';

/** PostgreSQL keeps no NUL. */
const storable = (text: string): string => text.replaceAll('\u0000', '');

const changingTools = new Set(tools.filter(changesSomething).map(({ name }) => name));

const isBadResult = (result: string | null) =>
  /^\{"error":"(unknown_tool|invalid_request|invalid_path|invalid_filter)"/.test(result ?? '');

let lengthOfTools = 0;
const toolLength = () => {
  if (lengthOfTools === 0) lengthOfTools = JSON.stringify(modelTools()).length;
  return lengthOfTools;
};

/** Calls since the person's last message. */
function recentCalls(messages: readonly AssistantMessage[], calls: readonly AssistantCall[]): AssistantCall[] {
  const from = messages.findLast(({ role }) => role === 'user')?.number ?? 0;
  return calls.filter(({ message }) => message > from);
}

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
      entry.reply = await Reply.claim(this.#services(), this.texts, this.#limits, id);
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
    this.#timer = setInterval(() => void this.look(), every.look);
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

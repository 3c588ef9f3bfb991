/**
 * How the assistant replies: steps of the model, one at a time, until one calls no tool. What a step says and calls is stored before a call runs,
 * and a call's result before the next step, so a reply that was cut off goes on in another process: reads and steps of the model may repeat, a
 * command is looked for by what it has left before it runs again. A reply is a process's by a lease, and every write names the attempt; a process
 * whose lease has passed to another one changes nothing. While a person decides about a call, no process has it.
 */
import { confinedTo } from '../../../kernel/actor.ts';
import { DomainError } from '../../../kernel/errors.ts';
import { uuid7 } from '../../../lib/ids.ts';
import { type Model, type ModelCall, ModelFault } from '../../../ports/model.ts';
import { authenticateHolder } from '../../identity/authenticate.ts';
import { Organization } from '../../organizations/organization.entity.ts';
import { loadProject } from '../../projects/project-ref.ts';
import { checkStored } from '../budget.ts';
import { changesSomething } from '../call-tool.ts';
import {
  AssistantCall,
  AssistantMessage,
  type Conversation,
  type EndCode,
  noProblem,
  openStates,
  type TextCode,
} from '../conversation.entity.ts';
import { type Calling, type CallOutcome, hashOf, modelTools, runCall, untouchedBranch } from '../conversation-tools.ts';
import { closeModel, openModel } from '../model.operations.ts';
import { tools } from '../tools.ts';
import type { LiveTexts } from './live-texts.ts';
import { type ModelStep, storable, withModelStep } from './model-step.ts';
import { historyOf, systemPrompt } from './prompt.ts';
import { Fenced, lease, type ReplyServices, ReplyStore } from './reply-store.ts';

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

/** How often a text in progress is stored, milliseconds. */
const saveEvery = 1_000;
/** How long consent can be given, milliseconds. */
const consentLasts = 24 * 3600_000;

/** Ends a reply with a sentence for the person. */
class Ended extends Error {
  readonly code: EndCode;
  readonly values: TextCode['values'];

  constructor(code: EndCode, message: string, values: TextCode['values'] = {}) {
    super(message);
    this.code = code;
    this.values = values;
  }
}

/** Why a reply ended early. */
interface Problem {
  problem: string | null;
  problem_code: TextCode | null;
}

/** What a process gives its replies. */
interface Process {
  services: ReplyServices;
  texts: LiveTexts;
  limits: ReplyLimits;
}

/** One reply in this process. */
export class Reply {
  readonly #services: ReplyServices;
  readonly #texts: LiveTexts;
  readonly #limits: ReplyLimits;
  readonly #store: ReplyStore;
  readonly #place: Calling['place'];
  readonly #tokenLimit: number | null;
  readonly #stop = new AbortController();
  /** Open from the first step on. */
  #model: Model | null = null;

  private constructor(
    { services, texts, limits }: Process,
    store: ReplyStore,
    place: Calling['place'],
    tokenLimit: number | null,
  ) {
    this.#services = services;
    this.#texts = texts;
    this.#limits = limits;
    this.#store = store;
    this.#place = place;
    this.#tokenLimit = tokenLimit;
  }

  /** @returns null when another process has it, or there is nothing to do */
  static async claim(process: Process, id: string): Promise<Reply | null> {
    const { services, texts } = process;
    const store = await ReplyStore.claim(services, texts, id);
    const em = services.orm.em.fork();
    const project = store && (await loadProject(em, { id: store.row.project_id }));
    const organization = project && (await em.findOne(Organization, { id: project.organization_id, deleted_at: null }));
    // Of a project that is deleted it is left alone: that may come back.
    if (!store || !project || !organization) return null;
    const place = { organization: organization.machine_name, project: project.machine_name, uuid: project.uuid };
    return new Reply(process, store, place, organization.limits.assistant_tokens_month ?? null);
  }

  get #row(): Conversation {
    return this.#store.row;
  }

  stop(reason: Error = new Ended('stopped', 'Stopped')): void {
    this.#stop.abort(reason);
  }

  async run(): Promise<void> {
    const beat = setInterval(() => void this.#renew(), lease.renewal);
    const over = () => this.stop(new Ended('time', 'The reply was ended after 10 minutes; write “go on” to continue'));
    const left = this.#limits.time - this.#row.active_ms;
    const time = setTimeout(over, left);
    if (left <= 0) over();
    this.#store.begin();
    const { id, project_id, user_id, version: since } = this.#row;
    this.#texts.begin(id, { project_id, user_id, since, message: null, text: '' });
    try {
      if (this.#row.stop_requested) throw new Ended('stopped', 'Stopped');
      while (await this.#advance());
    } catch (error) {
      const reason = this.#stop.signal.aborted ? this.#stop.signal.reason : error;
      // Left to another process, which goes on where the rows are.
      if (reason instanceof Fenced) await this.#store.release();
      else await this.#end(this.#problemOf(reason));
    } finally {
      clearInterval(beat);
      clearTimeout(time);
      this.#texts.end(id);
      await closeModel(this.#services, this.#model);
    }
  }

  /** Shows life, and looks whether the reply is to end. */
  async #renew(): Promise<void> {
    try {
      if (await this.#store.renew()) this.stop();
    } catch (err) {
      if (err instanceof Fenced) this.stop(err);
      else this.#services.log.warn({ err }, 'the lease of a reply was not renewed');
    }
  }

  #problemOf(error: unknown): Problem {
    const problem = (code: string, text: string, values: TextCode['values'] = {}) => ({
      problem: text,
      problem_code: { code, values },
    });
    if (error instanceof Ended) return problem(error.code, error.message, error.values);
    if (error instanceof ModelFault) return problem(`model_${error.failure}`, error.message);
    if (error instanceof DomainError) return problem(error.code, error.message);
    this.#services.log.error({ err: error, conversation: this.#row.id }, 'a reply of the assistant failed');
    return problem('internal', 'The reply failed for a reason of the server; the log has it. Try again');
  }

  async #end(problem: Problem): Promise<void> {
    try {
      const of = { conversation_id: this.#row.id };
      const { branch } = this.#row;
      const toLog = (err: unknown) => {
        this.#services.log.warn({ err, branch }, 'a branch without changes stays');
        return null;
      };
      const remove = await this.#unusedBranch().catch(toLog);
      await this.#store.write({ state: 'idle', ...problem, ...(remove && { branch: null }) }, async (em, version) => {
        await em.nativeUpdate(AssistantCall, { ...of, state: { $in: openStates } }, { state: 'stopped', version });
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

  /** @returns whether there is more to do */
  async #advance(): Promise<boolean> {
    this.#stop.signal.throwIfAborted();
    const { messages, calls } = await this.#store.readOn();
    const last = messages.at(-1);
    const isComplete = last?.role === 'assistant' && last.complete;
    const open = isComplete ? calls.filter(({ message, result }) => message === last.number && result === null) : [];
    if (open.length > 0) return this.#runCalls(open, recentCalls(messages, calls));
    if (isComplete && !calls.some(({ message }) => message === last.number)) {
      await this.#end(noProblem);
      return false;
    }
    if (this.#row.steps >= this.#limits.steps)
      throw new Ended('steps', `The reply was ended after ${this.#limits.steps} steps; write “go on” to continue`, {
        steps: this.#limits.steps,
      });
    await checkStored(this.#services.orm.em.fork(), this.#row.id);
    await this.#step(messages, calls);
    return true;
  }

  /** The person, with the rights they have now. @throws Ended when they may not be here any more, or the session of their request has ended */
  async #person() {
    const { organization_id, project_id, user_id, requester } = this.#row;
    const person = await authenticateHolder(this.#services, requester ?? `user:${user_id}`);
    const actor = person && confinedTo(person, project_id);
    const isHere = actor?.grantFor(organization_id)?.permissions.has('browse_studio');
    const isThere = (await loadProject(this.#services.orm.em.fork(), { id: project_id })) !== null;
    if (!actor || !isHere || !isThere) throw new Ended('no_access', 'You have no access to this project any more');
    return actor;
  }

  async #runCalls(open: readonly AssistantCall[], recent: readonly AssistantCall[]): Promise<boolean> {
    for (const call of open) {
      this.#stop.signal.throwIfAborted();
      if (call.state === 'waiting') {
        await this.#store.write({ state: 'waiting' });
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
            this.#store.write({}, (em, version) =>
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
      const { phrase, phrase_code, holds } = outcome;
      const expires_at = new Date(this.#services.clock.now().getTime() + consentLasts);
      await this.#store.write({ state: 'waiting' }, (em, version) =>
        em.nativeUpdate(
          AssistantCall,
          { id: call.id },
          { state: 'waiting', phrase, phrase_code, holds, expires_at, version },
        ),
      );
      return true;
    }
    const { state, result } = outcome;
    const more = outcome.state === 'done' ? { link: outcome.link, commit_sha: outcome.commit } : {};
    Object.assign(call, { state, result });
    await this.#store.write({}, (em, version) =>
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
      throw new Ended(
        'same_call',
        `The model has made the same call of ${call.tool} ${same + 1} times, and was stopped`,
        {
          tool: call.tool,
          times: same + 1,
        },
      );
    const good = earlier.findLastIndex(({ state, result }) => state !== 'failed' || !isBadResult(result));
    if (earlier.length - 1 - good >= this.#limits.badCalls)
      throw new Ended(
        'bad_calls',
        `The model has made ${this.#limits.badCalls} calls with wrong arguments in a row, and was stopped`,
        { calls: this.#limits.badCalls },
      );
  }

  /** One step of the model: its text and its calls become rows. */
  async #step(messages: readonly AssistantMessage[], calls: readonly AssistantCall[]): Promise<void> {
    const { clock, orm } = this.#services;
    await this.#person();
    this.#model ??= await openModel(this.#services, orm.em.fork(), this.#row.organization_id);
    const cut = messages.at(-1);
    const isRepeated = cut?.role === 'assistant' && !cut.complete;
    const kept = isRepeated ? messages.slice(0, -1) : messages;
    const request = {
      system: systemPrompt(this.#row, this.#place),
      messages: historyOf(kept, calls),
      tools: modelTools(),
      signal: this.#stop.signal,
    };
    const { id: conversation_id, organization_id, tokens } = this.#row;
    const budget = { organization_id, conversation_id, tokens, limit: this.#tokenLimit, now: clock.now() };
    const ifTooLong = 'write “go on” to continue';
    await withModelStep(this.#services, { model: this.#model, request, budget, ifTooLong }, (step) =>
      this.#write(step, (kept.at(-1)?.number ?? 0) + 1),
    );
  }

  /** Writes what comes of a step as a message and its calls. What has come of one that fails stays, marked as cut off. */
  async #write(step: ModelStep, number: number): Promise<void> {
    const { id: conversation_id, project_id, user_id, tokens: before, version: since } = this.#row;
    const created_at = this.#services.clock.now();
    this.#texts.begin(conversation_id, { project_id, user_id, since, message: number, text: '' });
    const row = { conversation_id, number, role: 'assistant' as const, context: null };
    await this.#store.write({}, (em, version) =>
      em.upsert(AssistantMessage, { ...row, text: '', complete: false, version, created_at }),
    );
    const stored = (complete: boolean, version: number) => ({ text: step.text, complete, version });
    let saved = performance.now();
    let saving = Promise.resolve();
    try {
      await step.take((piece) => {
        this.#texts.append(conversation_id, piece);
        if (performance.now() - saved <= saveEvery) return;
        saved = Number.POSITIVE_INFINITY;
        saving = this.#store
          .saveText(number, step.text)
          .catch((error: Error) => this.stop(error))
          .then(() => {
            saved = performance.now();
          });
      });
      await saving;
      this.#stop.signal.throwIfAborted();
      this.#check(step);
      const changes = { tokens: before + step.used, steps: this.#row.steps + 1 };
      await this.#store.write(changes, async (em, version) => {
        await em.nativeUpdate(AssistantMessage, { conversation_id, number }, stored(true, version));
        for (const [place, call] of step.calls.entries())
          await em.insert(AssistantCall, {
            ...{ id: uuid7(this.#services.clock.now()), conversation_id, message: number, place, version },
            ...callRow(call),
            created_at: this.#services.clock.now(),
          });
        await step.release(em);
      });
    } catch (error) {
      await saving;
      if (!(error instanceof Fenced))
        await this.#store
          .write({ tokens: before + step.used }, async (em, version) => {
            await em.nativeUpdate(AssistantMessage, { conversation_id, number }, stored(false, version));
            await step.release(em);
          })
          .catch(() => {});
      throw error;
    }
  }

  /** @throws ModelFault for an answer of too many calls, or of nothing at all */
  #check({ text, calls }: ModelStep): void {
    const most = this.#limits.calls;
    if (calls.length > most)
      throw new ModelFault('malformed', `The model has called ${calls.length} tools at once; ${most} are the most`);
    // After its calls a model may have nothing more to say.
    if (calls.length === 0 && text.trim() === '' && this.#row.steps === 0)
      throw new ModelFault('malformed', 'The model has answered nothing; try again');
  }
}

/** A call as it is stored before it runs. */
const callRow = ({ id, name, arguments: given }: ModelCall) => ({
  reference: storable(id).slice(0, 200),
  tool: storable(name).slice(0, 200),
  arguments: storable(given).slice(0, 2_000_000),
  arguments_hash: hashOf(name, given),
  state: 'pending' as const,
  ...{
    result: null,
    link: null,
    phrase: null,
    phrase_code: null,
    holds: null,
    expires_at: null,
    decided_by: null,
    decided_at: null,
  },
  ...{ head_before: null, commit_sha: null, undone_sha: null },
});

/** Of a command whose answer was lost. */
const unknownEnd = 'It is not known whether this was done: look before you call it again';

const changingTools = new Set(tools.filter(changesSomething).map(({ name }) => name));

const isBadResult = (result: string | null) =>
  /^\{"error":"(unknown_tool|invalid_request|invalid_path|invalid_filter)"/.test(result ?? '');

/** Calls since the person's last message. */
function recentCalls(messages: readonly AssistantMessage[], calls: readonly AssistantCall[]): AssistantCall[] {
  const from = messages.findLast(({ role }) => role === 'user')?.number ?? 0;
  return calls.filter(({ message }) => message > from);
}

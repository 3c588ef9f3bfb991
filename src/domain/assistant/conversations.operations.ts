/**
 * Conversations with the assistant: a person writes, the assistant replies behind the request (`replies/reply.ts`), and a subscription shows what happens.
 * A conversation is its person's alone: to all others it does not exist. Only a person who is signed in has any, and only they agree to a call.
 */
import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { Actor } from '../../kernel/actor.ts';
import { DomainError, fieldError } from '../../kernel/errors.ts';
import { findPage, pageInput, pageOf } from '../../kernel/paging.ts';
import { run } from '../../kernel/run.ts';
import { freeObject, oneLine, timestamp } from '../../kernel/shapes.ts';
import { executeBound } from '../../kernel/sql.ts';
import type { FairSlots } from '../../lib/fair-queue.ts';
import { isUuid, uuid7 } from '../../lib/ids.ts';
import { eventSubject } from '../../ports/event-feed.ts';
import type { Oid } from '../../ports/git-records.ts';
import { holderOf } from '../identity/authenticate.ts';
import { type ProjectContext, projectOperation } from '../projects/operation.ts';
import { holdProject } from '../projects/project-ref.ts';
import { revertCommit } from '../studio/changes/revert.operations.ts';
import {
  type ConversationPart,
  checkStored,
  checkTokens,
  conversationParts,
  conversationTokens,
  fullConversation,
  partSizesSql,
  storedBytes,
  usedTokens,
} from './budget.ts';
import { callerReads } from './call-tool.ts';
import {
  AssistantCall,
  AssistantMessage,
  Conversation,
  callStates,
  conversationStates,
  noProblem,
  openStates,
} from './conversation.entity.ts';
import { describeModel, noModel } from './model.operations.ts';
import type { ModelCaller, Replies } from './replies/replies.ts';
import { conversationSubject } from './replies/reply-store.ts';
import { tasks, taskText } from './tasks.ts';
import { toolsByName } from './tools.ts';

/** What the assistant of a process keeps. */
export interface AssistantRuntime {
  replies: Replies;
  /** Suggestions that are being written. */
  suggesting: FairSlots<ModelCaller>;
}

/** Conversations of one person in one project; the oldest must be deleted for more. */
const mostConversations = 1_000;
const longestMessage = 100_000;
/** Characters that a person has written in one conversation: a model gets all of them again with each step, and could read no more. */
const mostWritten = 3_000_000;

const conversationOperation = projectOperation.with<{ assistant: AssistantRuntime }, { assistant: AssistantRuntime }>({
  provide: ({ assistant }) => ({ assistant }),
});
/** One that changes whether the assistant replies: it answers with the conversation. */
const replyOperation = projectOperation.with<{ assistant: AssistantRuntime }, { assistant: AssistantRuntime }>({
  provide: ({ assistant }) => ({ assistant }),
  afterCommit({ assistant, actor, organization }, output) {
    const { id, state } = output as { id: string; state: string };
    if (state === 'running')
      assistant.replies.start({ id, user_id: personOf({ actor }), organization_id: organization.id });
    assistant.replies.texts.wake(id);
  },
});

const conversationState = z.enum(conversationStates).meta({ id: 'ConversationState' });

const textCode = z
  .object({ code: z.string(), values: freeObject.describe('What the text names') })
  .meta({ id: 'TextCode' });

const conversation = z
  .object({
    id: z.string(),
    title: z.string(),
    state: conversationState.describe('`waiting`: for consent to a call'),
    problem: z.string().nullable().describe('Why the last reply ended early'),
    problem_code: textCode.nullable().describe('The same, for a text in another language'),
    branch: z.string().nullable().describe('The draft of its changes; null before the first'),
    base: z.string().nullable().describe('The branch that draft was begun on, or that was shown last'),
    tokens: z.int32().describe('Tokens of the model it has used'),
    tokens_limit: z.int32(),
    version: z.int32().describe('Position: events behind it follow from here'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Conversation' });

const toolCall = z
  .object({
    id: z.string(),
    message: z.int32().describe('Number of the message that makes it'),
    place: z.int32().describe('Order within that message'),
    tool: z.string(),
    arguments: z.string().describe('JSON, as the model wrote it; it may be none'),
    arguments_hash: z.string().describe('What `approveTool` repeats'),
    state: z.enum(callStates).meta({ id: 'ToolCallState' }),
    result: z.string().nullable().describe('JSON, as the model gets it'),
    link: z.string().nullable().describe('Where the dashboard shows it'),
    phrase: z.string().nullable().describe('What will happen, where a person has to agree'),
    phrase_code: textCode.nullable().describe('The same, for a text in another language'),
    expires_at: timestamp.nullable().describe('Until when consent can be given'),
    decided_by: z.string().nullable(),
    decided_at: timestamp.nullable(),
    commit_sha: z.string().nullable().describe('The commit it has made'),
    undone_sha: z.string().nullable().describe('The commit that took it back'),
  })
  .meta({ id: 'ToolCall' });

const pageContext = z
  .object({
    branch: z.string().max(1000).optional().describe('The branch that is shown'),
    collection: z.string().max(200).optional(),
    entry: z.string().max(1000).optional().describe('Slug of the entry that is open'),
    path: z.string().max(4000).optional().describe('File or address that is open'),
    page: z.string().max(200).optional().describe('Page of the dashboard'),
    selection: z.string().max(20_000).optional().describe('Text that is selected'),
  })
  .meta({ id: 'PageContext' });

const message = z
  .object({
    number: z.int32(),
    role: z.enum(['user', 'assistant']).meta({ id: 'MessageRole' }),
    text: z.string().describe('Markdown'),
    complete: z.boolean().describe('False while it is written, and for one that was cut off'),
    context: pageContext.nullable().describe('What was open when it was sent'),
    created_at: timestamp,
  })
  .meta({ id: 'ConversationMessage' });

type Context = ProjectContext & { assistant: AssistantRuntime };
type Rights = Pick<Context, 'actor' | 'em' | 'project'>;

/** The person who calls. */
export const personOf = ({ actor }: Pick<Context, 'actor'>): number => {
  if (!actor.user) throw new Error('An operation for persons runs for one');
  return actor.user.id;
};

/** @throws DomainError `not_found`, also for one of another person or project */
async function ownConversation(context: Rights, id: string, isChanged = false): Promise<Conversation> {
  const where = { id, project_id: context.project.id, user_id: personOf(context) };
  const row = isUuid(id)
    ? await context.em.findOne(Conversation, where, {
        disableIdentityMap: true,
        ...(isChanged && { lockMode: LockMode.PESSIMISTIC_WRITE }),
      })
    : null;
  if (!row) throw new DomainError('not_found', `Conversation ${id.slice(0, 100)} not found`);
  return row as Conversation;
}

const record = (row: Conversation): z.output<typeof conversation> => ({ ...row, tokens_limit: conversationTokens });
const messageRecord = ({ context, ...row }: AssistantMessage): z.output<typeof message> => ({
  ...row,
  context: context as z.output<typeof pageContext> | null,
});

/** Writes to a conversation beside its reply. @returns its record */
async function change(
  { em, services }: Pick<Context, 'em' | 'services'>,
  row: Conversation,
  changes: Partial<Conversation>,
): Promise<z.output<typeof conversation>> {
  const version = row.version + 1;
  Object.assign(row, changes, { version, updated_at: services.clock.now() });
  await em.nativeUpdate(Conversation, { id: row.id }, { ...changes, version, updated_at: row.updated_at });
  await services.events.announce(em, conversationSubject(row));
  return record(row);
}

/** Lets the assistant reply, for as long as what the person is signed in with holds. */
const goesOn = (actor: Actor) =>
  ({ state: 'running', ...noProblem, holder: null, requester: holderOf(actor) }) satisfies Partial<Conversation>;

const of = { conversation: z.string().describe('Id of the conversation') };
const subject = ({ conversation }: { conversation: string }) => ({ type: 'conversation', id: conversation });
const common = { permission: 'browse_studio', forPersons: true, notInSteps: true } as const;

export const getAssistant = conversationOperation({
  name: 'assistant.getAssistant',
  kind: 'query',
  ...common,
  forPersons: false,
  summary: 'Whether the assistant has a model, and the tokens of this month',
  input: z.object({}),
  output: z
    .object({
      model: z.string().nullable().describe('Name of the model; null: none is set up'),
      tokens_month: z.number().describe('Tokens the organisation has used this month (UTC)'),
      tokens_limit: z.int32().nullable().describe('Most of them; null: no limit'),
    })
    .meta({ id: 'Assistant' }),
  async execute({ em, organization, services }) {
    return {
      model: (await describeModel(services, em, organization.id))?.name ?? null,
      tokens_month: await usedTokens(em, organization.id, services.clock.now()),
      tokens_limit: organization.limits.assistant_tokens_month ?? null,
    };
  },
});

export const createConversation = conversationOperation({
  name: 'assistant.createConversation',
  kind: 'command',
  ...common,
  summary: 'Begin a conversation with the assistant',
  input: z.object({ title: oneLine(200).optional().describe('Default: the beginning of the first message') }),
  output: conversation,
  audit: (_input, output) => ({ type: 'conversation', id: output?.id ?? null }),
  async execute(context, { title = '' }) {
    const { em, project, organization, services } = context;
    const user_id = personOf(context);
    // Two that are begun at once are counted one after the other.
    await holdProject(em, project.id);
    if ((await em.count(Conversation, { project_id: project.id, user_id })) >= mostConversations)
      throw new DomainError(
        'limit_reached',
        `You have ${mostConversations} conversations in this project; delete one first`,
      );
    const now = services.clock.now();
    const row: Conversation = {
      ...{ id: uuid7(now), organization_id: organization.id, project_id: project.id, user_id, title },
      ...{
        branch: null,
        base: null,
        state: 'idle',
        ...noProblem,
        tokens: 0,
        version: 1,
        attempt: 0,
        holder: null,
        requester: null,
      },
      ...{ lease_until: null, stop_requested: false, steps: 0, active_ms: 0, created_at: now, updated_at: now },
    };
    await em.insert(Conversation, row);
    return record(row);
  },
});

export const listConversations = conversationOperation({
  name: 'assistant.listConversations',
  kind: 'query',
  ...common,
  summary: "List the caller's conversations, the latest first",
  input: z.object(pageInput),
  output: pageOf(conversation),
  async execute(context, paging) {
    const { em, project } = context;
    const { rows, asPage } = await findPage(
      em,
      paging,
      Conversation,
      { project_id: project.id, user_id: personOf(context) },
      { orderBy: { updated_at: 'desc', id: 'desc' }, disableIdentityMap: true },
    );
    return asPage((rows as Conversation[]).map(record));
  },
});

interface Wanted {
  conversation_id: string;
  version?: { $gt: number; $lte: number };
}

async function messagesOf(em: EntityManager, where: Wanted): Promise<z.output<typeof message>[]> {
  const rows = await em.find(AssistantMessage, where, { orderBy: { number: 'asc' }, disableIdentityMap: true });
  return (rows as AssistantMessage[]).map(messageRecord);
}

async function callsOf(em: EntityManager, where: Wanted): Promise<AssistantCall[]> {
  const orderBy = { message: 'asc', place: 'asc' } as const;
  return (await em.find(AssistantCall, where, { orderBy, disableIdentityMap: true })) as AssistantCall[];
}

export const getConversation = conversationOperation({
  name: 'assistant.getConversation',
  kind: 'query',
  ...common,
  summary: 'Read a conversation with its messages and calls',
  input: z.object({
    ...of,
    include: z
      .array(z.enum(conversationParts))
      .default([...conversationParts])
      .describe('Parts that are read'),
  }),
  output: conversation
    .extend({ messages: z.array(message), calls: z.array(toolCall) })
    .meta({ id: 'ConversationWithMessages' }),
  async execute(context, { conversation: id, include }) {
    const { em } = context;
    // First, so that what is written meanwhile comes again in the events behind its version.
    const row = await ownConversation(context, id);
    if (include.length > 0) await context.room(await storedBytes(em, id, include));
    const where = { conversation_id: id };
    const read = <Part>(part: ConversationPart, rows: (em: EntityManager, where: Wanted) => Promise<Part[]>) =>
      include.includes(part) ? rows(em, where) : [];
    return { ...record(row), messages: await read('messages', messagesOf), calls: await read('calls', callsOf) };
  },
});

export const renameConversation = conversationOperation({
  name: 'assistant.renameConversation',
  kind: 'command',
  ...common,
  summary: 'Rename a conversation',
  input: z.object({ ...of, title: oneLine(200) }),
  output: conversation,
  audit: subject,
  async execute(context, { conversation: id, title }) {
    return change(context, await ownConversation(context, id, true), { title });
  },
});

export const deleteConversation = conversationOperation({
  name: 'assistant.deleteConversation',
  kind: 'command',
  ...common,
  irreversible: true,
  summary: 'Delete a conversation; the draft of its changes stays',
  input: z.object(of),
  output: conversation,
  audit: subject,
  async execute(context, { conversation: id }) {
    const row = await ownConversation(context, id, true);
    await context.em.nativeDelete(Conversation, { id: row.id });
    context.assistant.replies.stop(id);
    return record(row);
  },
});

/** Characters of the messages of its person. */
async function writtenIn(em: EntityManager, conversation_id: string): Promise<number> {
  const rows = await executeBound<{ characters: string }>(
    em,
    `select coalesce(sum(char_length(text)), 0) as characters from assistant_message
     where conversation_id = $1 and role = 'user'`,
    [conversation_id],
  );
  return Number(rows[0]?.characters ?? 0);
}

const firstLine = (text: string) =>
  (text.trim().split('\n', 1)[0] ?? '')
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, 80)
    .trim();

export const sendMessage = replyOperation({
  name: 'assistant.sendMessage',
  kind: 'command',
  ...common,
  summary: 'Write to the assistant, which replies in the background',
  input: z.object({
    ...of,
    text: z
      .string()
      .max(longestMessage, `must be at most ${longestMessage} characters`)
      .refine((text) => text.trim() !== '', 'must not be empty')
      .refine((text) => text.isWellFormed() && !text.includes('\u0000'), 'must be well-formed text without NUL'),
    context: pageContext.optional().describe('What is open in the dashboard'),
  }),
  output: conversation,
  audit: subject,
  async execute(context, { conversation: id, text, context: shown }) {
    const { em, services, organization } = context;
    const row = await ownConversation(context, id, true);
    const { problem } = (await describeModel(services, em, organization.id)) ?? { problem: noModel };
    if (problem !== null) throw new DomainError('model_unavailable', problem);
    if (row.state === 'running')
      throw new DomainError('conflict', 'The assistant still replies; wait, or stop it first');
    if (row.state === 'waiting')
      throw new DomainError('conflict', 'The assistant waits for your consent; approve or reject the call first');
    const limit = organization.limits.assistant_tokens_month ?? null;
    await checkTokens(em, { organization_id: organization.id, tokens: row.tokens, limit, now: services.clock.now() });
    if ((await writtenIn(em, id)) + text.length > mostWritten) throw fullConversation();
    await checkStored(em, id);
    const last = await em.findOne(AssistantMessage, { conversation_id: id }, { orderBy: { number: 'desc' } });
    const version = row.version + 1;
    await em.insert(AssistantMessage, {
      ...{ conversation_id: id, number: (last?.number ?? 0) + 1, role: 'user', text, complete: true, version },
      ...{ context: shown ?? null, created_at: services.clock.now() },
    });
    return change(context, row, {
      ...{ ...goesOn(context.actor), stop_requested: false, steps: 0, active_ms: 0 },
      ...(row.title === '' && { title: firstLine(text) || 'Conversation' }),
      // What is begun goes on where it was begun.
      ...(row.branch === null && { base: shown?.branch ?? row.base }),
    });
  },
});

export const stop = replyOperation({
  name: 'assistant.stop',
  kind: 'command',
  ...common,
  summary: 'Stop the reply of the assistant; what it has changed stays',
  input: z.object(of),
  output: conversation,
  audit: subject,
  async execute(context, { conversation: id }) {
    const row = await ownConversation(context, id, true);
    if (row.state === 'idle') return record(row);
    context.assistant.replies.stop(id);
    if (row.state === 'running') return change(context, row, { stop_requested: true });
    // Calls that were left undone before stay as they are: written again, all of them would be one change.
    const open = { conversation_id: id, state: { $in: openStates } };
    await context.em.nativeUpdate(AssistantCall, open, { state: 'stopped', version: row.version + 1 });
    return change(context, row, {
      state: 'idle',
      problem: 'Stopped',
      problem_code: { code: 'stopped', values: {} },
    });
  },
});

/** @throws DomainError `not_found` */
async function callOf(em: EntityManager, conversation_id: string, id: string): Promise<AssistantCall> {
  const found = isUuid(id)
    ? await em.findOne(AssistantCall, { id, conversation_id }, { disableIdentityMap: true })
    : null;
  if (!found) throw new DomainError('not_found', `Call ${id.slice(0, 100)} not found`);
  return found as AssistantCall;
}

/** A call that waits, and its conversation. @throws DomainError `not_found`, `conflict` when it is decided */
async function waitingCall(context: Context, id: string, call: string) {
  const row = await ownConversation(context, id, true);
  const found = await callOf(context.em, id, call);
  if (found.state !== 'waiting' || row.state !== 'waiting')
    throw new DomainError(
      'conflict',
      'This call does not wait for consent: it has been decided, or the reply has ended',
    );
  return { row, found };
}

const decision = { ...of, call: z.string().describe('Id of the call') };

export const approveTool = replyOperation({
  name: 'assistant.approveTool',
  kind: 'command',
  ...common,
  irreversible: true,
  summary: 'Agree to a call of a tool, once, for what its phrase names',
  input: z.object({
    ...decision,
    arguments_hash: z.string().describe('As the call has it: consent is to these arguments'),
    phrase: z.string().max(2_000).describe('As the call has it: consent is to what it names'),
  }),
  output: conversation,
  audit: ({ call }) => ({ type: 'tool_call', id: call }),
  async execute(context, { conversation: id, call, arguments_hash, phrase }) {
    const { em, actor, services } = context;
    const { row, found } = await waitingCall(context, id, call);
    if (found.arguments_hash !== arguments_hash)
      throw fieldError('conflict', 'arguments_hash', 'is not that of the call; read it again');
    if (found.phrase !== phrase)
      throw fieldError('conflict', 'phrase', 'is not that of the call: what it acts on has changed; read it again');
    const now = services.clock.now();
    if (found.expires_at !== null && found.expires_at <= now)
      throw new DomainError('conflict', 'Consent could be given for 24 hours; stop, and write to the assistant again');
    const version = row.version + 1;
    await em.nativeUpdate(
      AssistantCall,
      { id: call, state: 'waiting' },
      { state: 'approved', decided_by: actor.id, decided_at: now, version },
    );
    return change(context, row, goesOn(actor));
  },
});

export const rejectTool = replyOperation({
  name: 'assistant.rejectTool',
  kind: 'command',
  ...common,
  summary: 'Refuse a call of a tool; the assistant goes on without it',
  input: z.object({ ...decision, reason: z.string().max(2_000).optional().describe('For the assistant') }),
  output: conversation,
  audit: ({ call }) => ({ type: 'tool_call', id: call }),
  async execute(context, { conversation: id, call, reason }) {
    const { em, actor, services } = context;
    const { row } = await waitingCall(context, id, call);
    const message = 'The person has refused this call. Do not try it again by other means';
    await em.nativeUpdate(
      AssistantCall,
      { id: call, state: 'waiting' },
      {
        ...{ state: 'rejected', decided_by: actor.id, decided_at: services.clock.now(), version: row.version + 1 },
        result: JSON.stringify({ error: 'rejected', message, ...(reason?.trim() && { reason: reason.trim() }) }),
      },
    );
    return change(context, row, goesOn(actor));
  },
});

export const undoChange = conversationOperation({
  name: 'assistant.undoChange',
  kind: 'command',
  effect: 'external',
  ...common,
  summary:
    'Take back what a call has changed, by a commit on the draft of the conversation; what was changed since stays',
  input: z.object(decision),
  output: toolCall,
  audit: ({ call }) => ({ type: 'tool_call', id: call }),
  async execute(context, { conversation: id, call }) {
    const { em, git, services, actor, signal, address, organization, project } = context;
    const row = await ownConversation(context, id);
    const found = await callOf(em, id, call);
    if (found.commit_sha === null || toolsByName.get(found.tool)?.target !== 'branch')
      throw new DomainError('conflict', 'This call has changed nothing in the draft of this conversation');
    if (found.undone_sha !== null) throw new DomainError('conflict', 'This change has been taken back already');
    if (row.branch === null || (await git.head(row.branch)) === null)
      throw new DomainError('conflict', 'The draft of this conversation is gone: it was published or deleted');
    const made = await git.commit(found.commit_sha as Oid);
    const { commit } = await run(
      revertCommit,
      { services, actor, signal, address, request_id: id, conditions: {}, facts: {} } as never,
      {
        ...{ organization: organization.machine_name, project: project.machine_name, branch: row.branch },
        ...{ commit: made.sha, message: `Undo ${made.message.split('\n', 1)[0]}` },
      },
    );
    const undone_sha = commit?.sha ?? made.sha;
    await em.transactional(async (within) => {
      const held = await ownConversation({ ...context, em: within }, id, true);
      await within.nativeUpdate(AssistantCall, { id: call }, { undone_sha, version: held.version + 1 });
      await change({ em: within, services }, held, {});
    });
    context.assistant.replies.texts.wake(id);
    return { ...found, undone_sha };
  },
});

/** Bytes of what one event brings. */
const mostAtOnce = 1024 * 1024;

/** What was written with one version comes whole: a position in the middle of it would have no name. */
const batchSql = `
  with written as (
    select version, sum(sum(bytes)) over (order by version) as bytes from (${partSizesSql}) as part
    where version > $2 and version <= $3 group by version)
  select version, bytes::float8 as bytes, (select max(version) from written) as last from written
  where bytes <= $4 or version = (select min(version) from written) order by version desc limit 1`;

/**
 * Messages and calls that were written behind a position, as many as one event brings. They go by version: what is written again while a client
 * reads gets a version behind all that is left, so a client which goes on behind the last one misses nothing.
 * @returns with the version up to which they are all there is
 */
async function partsBehind(context: Context, { id, version }: Conversation, after: number) {
  const { em } = context;
  const values = [id, after, version, mostAtOnce];
  const [batch] = await executeBound<{ version: number; bytes: number; last: number }>(em, batchSql, values);
  await context.room(batch?.bytes ?? 0);
  const end = batch && batch.version < batch.last ? batch.version : version;
  const where = { conversation_id: id, version: { $gt: after, $lte: end } };
  return { version: end, messages: await messagesOf(em, where), calls: await callsOf(em, where) };
}

export const readEvents = conversationOperation({
  name: 'assistant.readEvents',
  kind: 'query',
  ...common,
  summary: 'Follow a conversation',
  input: z.object({ ...of, after: z.int32().min(0).describe('Version to go on behind') }),
  output: z.object({
    changed: conversation.extend({ messages: z.array(message), calls: z.array(toolCall) }).nullable(),
    /** What this process is receiving. */
    live: z.object({ message: z.int32(), text: z.string() }).nullable(),
    /** More has been written: it is read from the version of `changed` on. */
    more: z.boolean(),
    subject: eventSubject,
  }),
  async execute(context, { conversation: id, after }) {
    const { project, assistant } = context;
    const user_id = personOf(context);
    const subject = conversationSubject({ id, project_id: project.id });
    const live = assistant.replies.texts.get(id);
    const isOwn = live?.user_id === user_id && live.project_id === project.id;
    const shown = isOwn && live.message !== null ? { message: live.message, text: live.text } : null;
    // While texts come, nothing has to be looked up for each piece.
    if (isOwn && live.since <= after) return { changed: null, live: shown, more: false, subject };
    const row = await ownConversation(context, id);
    if (row.version <= after) return { changed: null, live: shown, more: false, subject };
    const changed = { ...record(row), ...(await partsBehind(context, row, after)) };
    const more = changed.version < row.version;
    // Its text goes behind all that was written before.
    return { changed, live: more ? null : shown, more, subject };
  },
});

const task = z
  .object({
    name: z.string(),
    title: z.string(),
    description: z.string(),
    arguments: z.array(
      z
        .object({ name: z.string(), description: z.string(), required: z.boolean() })
        .meta({ id: 'AssistantTaskArgument' }),
    ),
  })
  .meta({ id: 'AssistantTask' });

export const listTasks = conversationOperation({
  name: 'assistant.listTasks',
  kind: 'query',
  ...common,
  forPersons: false,
  summary: 'List the ready-made tasks of the assistant',
  input: z.object({}),
  output: z.array(task),
  execute: async () => tasks.map(({ text: _, ...shown }) => ({ ...shown, arguments: [...shown.arguments] })),
});

export const getTaskText = conversationOperation({
  name: 'assistant.getTaskText',
  kind: 'query',
  ...common,
  forPersons: false,
  summary: 'The text of a task, filled in, to be shown before it is sent',
  input: z.object({
    task: z.string().describe('Name of the task'),
    values: z
      .array(z.object({ name: z.string().max(100), value: z.string().max(longestMessage) }).meta({ id: 'TaskValue' }))
      .max(20)
      .default([])
      .describe('What its arguments are filled in with'),
  }),
  output: z
    .object({
      text: z.string(),
      is_own: z.boolean().describe('The project has worded the task itself'),
      values: freeObject.describe('What its blanks are filled in with, for a text in another language'),
    })
    .meta({ id: 'AssistantTaskText' }),
  async execute(context, { task: name, values }) {
    const { services, actor, signal, address, organization, project } = context;
    const found = tasks.find((each) => each.name === name);
    if (!found) throw new DomainError('not_found', `Task ${name.slice(0, 100)} not found`);
    const read = callerReads({
      call: { services, actor, signal, address, request_id: name },
      organization: organization.machine_name,
      project: project.machine_name,
      publish: false,
    });
    const given = Object.fromEntries(values.map(({ name, value }) => [name, value]));
    return taskText(found, read, given);
  },
});

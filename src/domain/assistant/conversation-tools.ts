/**
 * The tools as a conversation has them: writes go to its own branch, which is made with the first of them, and what moves other branches or takes
 * something away waits for a person. A model names neither the branch of a write nor consent, so nothing it reads can widen what it may do.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Actor, systemActor } from '../../kernel/actor.ts';
import { DomainError, fieldError } from '../../kernel/errors.ts';
import type { Call } from '../../kernel/operation.ts';
import { run } from '../../kernel/run.ts';
import { isRecord, stableJson } from '../../lib/objects.ts';
import type { Oid } from '../../ports/git-records.ts';
import type { ModelTool } from '../../ports/model.ts';
import { getPull, listPulls } from '../studio/pulls/pulls.operations.ts';
import { checkNewRefName, checkRefName } from '../studio/ref-name.ts';
import { createBranch, deleteBranch } from '../studio/repository/branches.operations.ts';
import type { StudioServices } from '../studio/studio.ts';
import {
  type Agreement,
  argumentsOf,
  callerReads,
  callTool,
  changesSomething,
  checkArguments,
  faultOf,
  schemaFor,
  type ToolCaller,
  type ToolOutcome,
} from './call-tool.ts';
import type { AssistantCall, ConsentCode, Conversation, TextCode } from './conversation.entity.ts';
import { type Tool, type ToolInput, tools, toolsByName } from './tools.ts';

/** Bytes of a result that is kept and that a model gets. */
const longestResult = 32 * 1024;

/** The branch a tool writes to is the conversation's: no argument says so. */
const isOwnBranch = ({ target }: Tool) => target === 'branch';

function shapeOf(tool: Tool): z.ZodObject {
  const { confirm: _, ...shape } = argumentsOf(tool).shape as Record<string, z.ZodType>;
  if (isOwnBranch(tool)) delete shape.branch;
  return z.object(shape);
}

/** Made once: schemas are dear. */
let shown: readonly ModelTool[] | undefined;

export function modelTools(): readonly ModelTool[] {
  shown ??= tools.map((tool) => ({ name: tool.name, description: tool.description, schema: schemaFor(shapeOf(tool)) }));
  return shown;
}

/** The same for the same arguments, however they are written. */
export function hashOf(tool: string, given: string): string {
  const parsed = parsedArguments(given);
  return createHash('sha256')
    .update(`${tool} ${parsed === null ? given : stableJson(parsed)}`)
    .digest('hex');
}

function parsedArguments(text: string): ToolInput | null {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** What a call needs of the conversation it belongs to. */
export interface Calling {
  services: StudioServices;
  actor: Actor;
  /** Its branch is set where one is made. */
  conversation: Conversation;
  place: { organization: string; project: string; uuid: string };
  signal: AbortSignal;
  /** Keeps, before a command runs, that it does, and where its branch was. */
  begin(head: string | null): Promise<void>;
}

export type CallOutcome =
  | { state: 'done'; result: string; link: string | null; commit: string | null }
  | { state: 'failed'; result: string }
  | { state: 'waiting'; phrase: string; phrase_code: TextCode | null; holds: ToolInput };

const failed = (fault: object): CallOutcome => ({ state: 'failed', result: bounded(fault) });

/** JSON that no text within can end: a result is shown to the model between marks. */
function bounded(value: unknown): string {
  const text = JSON.stringify(value).replaceAll('<', '\\u003c');
  if (Buffer.byteLength(text) <= longestResult) return text;
  return JSON.stringify({ error: 'too_large', message: 'The result is too long: ask for less at once' });
}

/** The line of a commit message by which the commit of a call is found again. */
const trailer = (call: Pick<AssistantCall, 'id'>) => `Assistant-Call: ${call.id}`;

/** The first line of a commit that the model has not worded. */
function wording({ title }: Tool, given: ToolInput): string {
  const name = given.entry ?? given.slug ?? given.media ?? given.path ?? given.head ?? given.number ?? '';
  return `${title}: ${[given.collection, name].filter(Boolean).join('/')}`.slice(0, 200);
}

/** The branch a call moves or makes; null: none. */
async function targetOf(calling: Calling, call: AssistantCall, tool: Tool, input: ToolInput): Promise<string | null> {
  if (tool.name === 'merge_pull') {
    const read = callerReads(callerOf(calling, call));
    return read(getPull, { number: Number(input.number) }).then(
      ({ base }) => base.ref,
      () => null,
    );
  }
  const named = input[isOwnBranch(tool) ? 'branch' : tool.name === 'create_branch' ? 'name' : 'base'];
  return typeof named === 'string' ? named : null;
}

/**
 * What an interrupted call has done, found by what it has left: a commit with its trailer, a branch that was not there before it began, a merge
 * that only moved its branch, or a pull request that is open since. One that left nothing has done nothing.
 */
async function earlierEffect(
  calling: Calling,
  call: AssistantCall,
  tool: Tool,
  input: ToolInput,
  target: string | null,
): Promise<{ commit: string | null; more: object } | null> {
  if (call.state !== 'running') return null;
  if (tool.name === 'create_pull') {
    const { head, base } = input as { head: string; base?: string };
    const read = callerReads(callerOf(calling, call));
    const { items } = await read(listPulls, { head, ...(base !== undefined && { base }), author: calling.actor.id });
    const made = items.find(({ created_at }) => new Date(created_at) >= call.created_at);
    return made ? { commit: null, more: { number: made.number } } : null;
  }
  const git = calling.services.git.open(calling.place.uuid);
  const head = target === null ? null : await git.head(target);
  const before = call.head_before as Oid | null;
  if (head === null || head === before) return null;
  if (before === null) return tool.name === 'create_branch' ? { commit: null, more: { name: target } } : null;
  const commits = await git.commitsBetween(before, head, { skip: 0, limit: 200 });
  const made = commits.find(({ message }) => message.includes(trailer(call)));
  if (made) return { commit: made.sha, more: {} };
  const agreed = tool.name === 'merge_pull' ? call.holds?.sha : call.holds?.head_sha;
  const isMerge = tool.name === 'merge_pull' || tool.name === 'merge_branches';
  const isThere = isMerge && typeof agreed === 'string' && (await git.isAncestor(agreed as Oid, head));
  return isThere ? { commit: head, more: { merged: true } } : null;
}

const systemCall = (
  { services, actor, signal }: Pick<Calling, 'services' | 'actor' | 'signal'>,
  id: string,
): Omit<Call, 'facts' | 'conditions'> =>
  ({ services, actor, signal, request_id: id, address: null }) as Omit<Call, 'facts' | 'conditions'>;

/**
 * The branch of a conversation's changes; made where it has none, or where it is gone since it was merged or deleted.
 * @returns its name, and what is new about it
 */
async function ownBranch(calling: Calling, call: AssistantCall) {
  const { services, conversation, place } = calling;
  const git = services.git.open(place.uuid);
  if (conversation.branch !== null && (await git.head(conversation.branch)) !== null)
    return { branch: conversation.branch, made: null };
  const wanted = conversation.base;
  const base = wanted !== null && (await git.head(wanted)) !== null ? wanted : await git.defaultBranch();
  const taken = (await git.branches()).map(({ name }) => name.replace(/^refs\/heads\//, ''));
  const prefix = taken.some((name) => name.toLowerCase() === 'assistant') ? 'portico-assistant' : 'assistant';
  const plain = `${prefix}/${conversation.id}`;
  // A name is not used again: what was merged under it may still be looked at.
  const again =
    conversation.branch === null ? 0 : Number(/-(\d+)$/.exec(conversation.branch.slice(plain.length))?.[1] ?? 1);
  const branch = again === 0 ? plain : `${plain}-${again + 1}`;
  await run(createBranch, { ...systemCall(calling, call.id), facts: {}, conditions: {} } as never, {
    organization: place.organization,
    project: place.project,
    name: branch,
    from: base,
    title: conversation.title,
  }).catch((error: unknown) => {
    if (!(error instanceof DomainError && error.code === 'already_exists')) throw error;
  });
  return { branch, made: { branch, base } };
}

/**
 * A conversation's branch that has no commit of its own.
 * @returns what removes it, unless it has moved meanwhile; null: it has commits, or there is no branch
 */
export async function untouchedBranch(
  { services, place }: Pick<Calling, 'services' | 'place'>,
  { id, branch, base }: Pick<Conversation, 'id' | 'branch' | 'base'>,
): Promise<(() => Promise<void>) | null> {
  if (branch === null || base === null) return null;
  const git = services.git.open(place.uuid);
  const [head, from] = await Promise.all([git.head(branch), git.head(base)]);
  if (head === null || from === null || !(await git.isAncestor(head, from))) return null;
  return async () => {
    const actor = systemActor('assistant', ['delete_studio'], services.settings.public_host);
    const call = systemCall({ services, actor, signal: AbortSignal.timeout(30_000) }, id);
    const { organization, project } = place;
    const input = { organization, project, name: branch };
    await run(deleteBranch, { ...call, facts: {}, conditions: { if_match: head } } as never, input);
  };
}

/**
 * Checks the names of branches that a person is to agree to as the operations do, which see them only afterwards: a phrase is stored, and
 * PostgreSQL keeps neither NUL nor half of a surrogate pair.
 * @throws DomainError `invalid_name`
 */
function checkNames({ name: tool }: Tool, { name, from, head, base }: ToolInput): void {
  if (tool === 'create_branch') {
    checkNewRefName('name', String(name));
    if (from !== undefined) checkRefName('from', String(from));
  } else if (tool === 'create_pull') {
    checkRefName('head', String(head));
    if (base !== undefined) checkRefName('base', String(base));
  }
}

/**
 * What a tool that acts beyond the conversation's branch will do, for a person to agree to.
 * @throws DomainError `invalid_name`
 */
function consentOf(tool: Tool, given: ToolInput): { phrase: string; phrase_code: TextCode } | null {
  if (tool.consent || isOwnBranch(tool) || !changesSomething(tool)) return null;
  checkNames(tool, given);
  const consent = (phrase: string, code: ConsentCode, named: ToolInput) => {
    const values = Object.fromEntries(Object.entries(named).map(([key, value]) => [key, String(value)]));
    return { phrase, phrase_code: { code, values } };
  };
  const { name, from, head, base, title } = given;
  if (tool.name === 'create_branch')
    return from === undefined
      ? consent(`create the branch ${name} from the default branch`, 'create_branch', { name })
      : consent(`create the branch ${name} from ${from}`, 'create_branch_from', { name, from });
  if (tool.name === 'create_pull')
    return base === undefined
      ? consent(`propose ${head} for the default branch as “${title}”`, 'create_pull', { head, title })
      : consent(`propose ${head} for ${base} as “${title}”`, 'create_pull_for', { head, base, title });
  const text = stableJson(given);
  return consent(`${tool.title.toLowerCase()}: ${text}`, 'call', { arguments: text });
}

const sha = z.object({ commit: z.object({ sha: z.string() }).nullish() });

/** What a person has agreed to of a call; null: nothing. */
const agreementOf = ({ state, phrase, holds }: AssistantCall): Agreement | null =>
  (state === 'approved' || state === 'running') && phrase !== null ? { phrase, holds: holds ?? {} } : null;

/** Runs one call, or says what a person has to agree to first. Faults of the service itself are thrown. */
export async function runCall(calling: Calling, call: AssistantCall): Promise<CallOutcome> {
  const tool = toolsByName.get(call.tool);
  if (!tool) {
    const message = `There is no tool ${call.tool.slice(0, 100)}; there are ${[...toolsByName.keys()].join(', ')}`;
    return failed({ error: 'unknown_tool', message });
  }
  const given = parsedArguments(call.arguments);
  if (given === null) {
    const message = 'The arguments are no JSON object: call the tool again with the whole object';
    return failed({ error: 'invalid_request', message });
  }
  try {
    const input = inputOf(calling, tool, given);
    return await (changesSomething(tool) ? change(calling, call, tool, input) : look(calling, call, tool, input));
  } catch (error) {
    if (calling.signal.aborted || !(error instanceof DomainError)) throw error;
    return failed(faultOf(error));
  }
}

/** The arguments of a call without the branch, which may be named where it is the conversation's. @throws DomainError naming the argument */
function inputOf({ conversation }: Calling, tool: Tool, given: ToolInput): ToolInput {
  const input = { ...given };
  if (isOwnBranch(tool) && given.branch !== undefined) {
    if (given.branch !== conversation.branch)
      throw fieldError(
        'invalid_request',
        'branch',
        'must be left out: all changes go to the draft of this conversation',
      );
    delete input.branch;
  }
  checkArguments(tool, input, shapeOf(tool));
  return input;
}

/** The person as the caller of a tool. */
const callerOf = (calling: Calling, call: AssistantCall, signal = calling.signal): ToolCaller => ({
  call: { ...systemCall(calling, call.id), signal },
  organization: calling.place.organization,
  project: calling.place.project,
  publish: true,
});

/** What a read looks at that names no branch: the conversation's, or the one that is shown. */
async function shownBranch({ services, place, conversation }: Calling): Promise<string | null> {
  const git = services.git.open(place.uuid);
  for (const branch of [conversation.branch, conversation.base])
    if (branch !== null && (await git.head(branch)) !== null) return branch;
  return null;
}

async function look(calling: Calling, call: AssistantCall, tool: Tool, input: ToolInput): Promise<CallOutcome> {
  const namesNone = Object.hasOwn(tool.inputs.shape, 'branch') && input.branch === undefined;
  const branch = namesNone ? await shownBranch(calling) : null;
  return outcomeOf(await callTool(tool, callerOf(calling, call), branch === null ? input : { ...input, branch }, null));
}

function outcomeOf(outcome: ToolOutcome, commit: string | null = null): CallOutcome {
  if (outcome.kind === 'consent') {
    const { phrase, phrase_code, holds } = outcome;
    return { state: 'waiting', phrase, phrase_code, holds };
  }
  return { state: 'done', result: bounded(outcome.content), link: outcome.link, commit };
}

async function change(calling: Calling, call: AssistantCall, tool: Tool, input: ToolInput): Promise<CallOutcome> {
  const { services, conversation, place } = calling;
  const agreed = agreementOf(call);
  const consent = consentOf(tool, input);
  if (consent && agreed?.phrase !== consent.phrase) return { state: 'waiting', ...consent, holds: {} };
  if (isOwnBranch(tool)) {
    const { branch, made } = await ownBranch(calling, call);
    input.branch = branch;
    if (made) Object.assign(conversation, made);
  }
  const target = await targetOf(calling, call, tool, input);
  const earlier = await earlierEffect(calling, call, tool, input, target);
  if (earlier) {
    const { commit, more } = earlier;
    const note = 'The server was restarted meanwhile; read it again';
    const result = bounded({ done: true, ...(commit !== null && { commit: { sha: commit } }), ...more, note });
    return { state: 'done', result, link: null, commit };
  }
  if (Object.hasOwn(tool.inputs.shape, 'message')) {
    const message = typeof input.message === 'string' ? input.message.trim() : '';
    input.message = `${message === '' ? wording(tool, input) : message}\n\n${trailer(call)}`;
  }
  if (!tool.consent || agreed !== null)
    await calling.begin(target === null ? null : await services.git.open(place.uuid).head(target));
  // What has begun to change something is not cut off.
  const outcome = await callTool(tool, callerOf(calling, call, AbortSignal.timeout(120_000)), input, agreed);
  const content = outcome.kind === 'done' ? outcome.content : null;
  return outcomeOf(outcome, sha.safeParse(content).data?.commit?.sha ?? null);
}

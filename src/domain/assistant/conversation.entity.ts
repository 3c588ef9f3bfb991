import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** A row as it is read: what has no value is null. */
type Whole<T> = { [Name in keyof T & string]-?: Exclude<T[Name], undefined> };

/** What ends a reply early, beside failures of the model and refusals of operations. */
export const endCodes = ['stopped', 'time', 'steps', 'no_access', 'same_call', 'bad_calls', 'internal'] as const;
export type EndCode = (typeof endCodes)[number];

/** What a person is to agree to. */
export const consentCodes = [
  'delete_entry',
  'delete_media',
  'merge_branches',
  'merge_pull',
  'create_branch',
  'create_branch_from',
  'create_pull',
  'create_pull_for',
  'call',
] as const;
export type ConsentCode = (typeof consentCodes)[number];

/** Which sentence a text is and what it names, for who shows it in another language than English. */
export interface TextCode {
  code: string;
  values: Record<string, string | number>;
}

/** `running`: the assistant answers; `waiting`: for a person's consent to a call. */
export const conversationStates = ['idle', 'running', 'waiting'] as const;

/** What a person and the assistant write to each other about a project; it belongs to that person alone. */
export const Conversation = defineEntity({
  name: 'Conversation',
  tableName: 'assistant_conversation',
  properties: {
    id: p.uuid().primary(),
    organization_id: p.integer(),
    project_id: p.integer(),
    user_id: p.integer(),
    title: p.text(),
    /** Where all its changes go; null before the first. */
    branch: p.text().nullable(),
    /** The branch that was shown when `branch` was begun, or is shown now. */
    base: p.text().nullable(),
    state: p.text().$type<(typeof conversationStates)[number]>(),
    /** Why the last answer ended early, for the person. */
    problem: p.text().nullable(),
    problem_code: p.json<TextCode>().nullable(),
    /** Tokens used. */
    tokens: p.integer(),
    /** Counts the writes to the conversation and its rows, each of which has the count of its own last one. */
    version: p.integer(),
    /** Names who may write of the processes that have answered: the last one. */
    attempt: p.integer(),
    /** Credential of the person's last request to the reply, which ends with it, such as `session:7`; null before the first. */
    requester: p.text().nullable(),
    holder: p.uuid().nullable(),
    lease_until: p.datetime(3).nullable(),
    stop_requested: p.boolean(),
    /** Steps of the model since the person's last message, and milliseconds they took. */
    steps: p.integer(),
    active_ms: p.integer(),
    created_at: p.datetime(3),
    updated_at: p.datetime(3),
  },
});
export type Conversation = Whole<InferEntity<typeof Conversation>>;

export const noProblem = { problem: null, problem_code: null };

export const AssistantMessage = defineEntity({
  name: 'AssistantMessage',
  tableName: 'assistant_message',
  properties: {
    conversation_id: p.uuid().primary(),
    /** From 1. */
    number: p.integer().primary(),
    role: p.text().$type<'user' | 'assistant'>(),
    text: p.text(),
    /** What was open in the dashboard when it was sent. */
    context: p.json<Record<string, unknown>>().nullable(),
    /** False while it is written, and of one that was cut off. */
    complete: p.boolean(),
    version: p.integer(),
    created_at: p.datetime(3),
  },
});
export type AssistantMessage = Whole<InferEntity<typeof AssistantMessage>>;

/** `pending`: not begun; `waiting`: for consent; `approved`: with consent, not begun. */
export const callStates = [
  'pending',
  'waiting',
  'approved',
  'running',
  'done',
  'failed',
  'rejected',
  'stopped',
] as const;

/** States of calls that are not begun. */
export const openStates = ['pending', 'waiting', 'approved'] as const satisfies readonly (typeof callStates)[number][];

/** A call of a tool that a message of the assistant makes. */
export const AssistantCall = defineEntity({
  name: 'AssistantCall',
  tableName: 'assistant_call',
  properties: {
    id: p.uuid().primary(),
    conversation_id: p.uuid(),
    message: p.integer(),
    /** Order within the message. */
    place: p.integer(),
    /** As the model names it. */
    reference: p.text(),
    tool: p.text(),
    arguments: p.text(),
    arguments_hash: p.text(),
    state: p.text().$type<(typeof callStates)[number]>(),
    /** What the model gets, as JSON; at most 32 KiB. */
    result: p.text().nullable(),
    link: p.text().nullable(),
    /** What a person is to agree to, and the versions that holds for. */
    phrase: p.text().nullable(),
    phrase_code: p.json<TextCode>().nullable(),
    holds: p.json<Record<string, unknown>>().nullable(),
    /** Until when, and what was decided by whom. */
    expires_at: p.datetime(3).nullable(),
    decided_by: p.text().nullable(),
    decided_at: p.datetime(3).nullable(),
    /** Head of the branch before it began. */
    head_before: p.text().nullable(),
    commit_sha: p.text().nullable(),
    undone_sha: p.text().nullable(),
    version: p.integer(),
    created_at: p.datetime(3),
  },
});
export type AssistantCall = Whole<InferEntity<typeof AssistantCall>>;

/** Tokens an organisation has used in a month (UTC), reserved ones included. */
export const AssistantUsage = defineEntity({
  name: 'AssistantUsage',
  tableName: 'assistant_usage',
  properties: {
    organization_id: p.integer().primary(),
    /** `2026-11`. */
    month: p.text().primary(),
    tokens: p.double(),
  },
});

/** Tokens that one step of a model may still use: they count in `AssistantUsage` until it is known how many it has used. */
export const AssistantReservation = defineEntity({
  name: 'AssistantReservation',
  tableName: 'assistant_reservation',
  properties: {
    id: p.uuid().primary(),
    organization_id: p.integer(),
    month: p.text(),
    /** Of the reply the step is of; null for a suggestion. */
    conversation_id: p.uuid().nullable(),
    tokens: p.integer(),
    /** Those of the question, which count as used where nothing else is known. */
    question: p.integer(),
    /** No step takes so long: its process has died. */
    expires_at: p.datetime(3),
  },
});

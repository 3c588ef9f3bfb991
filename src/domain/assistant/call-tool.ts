/**
 * How a tool is called, by a model in a conversation or by a client of the Model Context Protocol: its arguments are checked against its row, the
 * branch it writes to against what the caller may publish, consent is obtained where it is wanted, and its operation runs as the caller, through
 * `run()`. What comes back is short, says what to call next, and links to the dashboard.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { isGrantable, type Permission, systemActor } from '../../kernel/actor.ts';
import { DomainError, type ErrorCode, fieldError } from '../../kernel/errors.ts';
import { type Call, withoutSecrets } from '../../kernel/operation.ts';
import { parseInput } from '../../kernel/parse.ts';
import { admitByPath, recordRefusal, run } from '../../kernel/run.ts';
import { type JsonSchema, jsonSchemaOf } from '../../kernel/shapes.ts';
import { isRecord } from '../../lib/objects.ts';
import { checkRefName } from '../studio/ref-name.ts';
import { readBranchRules } from '../studio/repository/branches.operations.ts';
import type { TextCode } from './conversation.entity.ts';
import type { Consent, Read, Tool, ToolInput } from './tools.ts';

/** Bytes of JSON that a result has at most, about; what holds it is bounded by 32 KiB. */
const budget = 24_000;
/** Characters of a long text that one call gives. */
const rangeLengths = { default: 16_000, max: 20_000 } as const;
/** Bytes of JSON that these are. */
const rangeBytes = 21_000;

/** Bytes of a text in JSON, where `<` is escaped, too. */
const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text)) + 5 * (text.match(/</g)?.length ?? 0);

/** As much of a text's beginning as fits; never half of a surrogate pair. */
function beginningOf(text: string, bytes: number): string {
  if (bytesOf(text) <= bytes) return text;
  let [fits, tooLong] = [0, Math.min(text.length, bytes + 1)];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (bytesOf(text.slice(0, middle)) <= bytes) fits = middle;
    else tooLong = middle;
  }
  return text.slice(0, fits).replace(/[\ud800-\udbff]$/, '');
}

/** What is left of a result's room, and whether anything was left out for lack of it. */
interface Room {
  left: number;
  isCut: boolean;
}

const nameLength = 4;

/** The schema within what only says that a value may be absent. */
function inner(schema: z.core.$ZodType): z.core.$ZodType {
  const { innerType } = schema._zod.def as { innerType?: z.core.$ZodType };
  return innerType ? inner(innerType) : schema;
}

/** A text as long as there is room. */
function cutText(text: string, room: Room): string {
  const kept = beginningOf(text, Math.max(room.left, 200));
  if (kept === text) return text;
  room.isCut = true;
  return `${kept}… (${text.length - kept.length} characters more)`;
}

/**
 * What a schema names of a value in its wire form, as far as there is room. Members stay, so that the rest still fits its schema: texts are cut,
 * lists end early, free values become empty.
 */
function within(outer: z.core.$ZodType, value: unknown, room: Room): unknown {
  const schema = inner(outer);
  if (value === null || value === undefined) return value;
  if (schema instanceof z.ZodObject && typeof value === 'object') {
    const kept: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(schema.shape)) {
      const given = (value as Record<string, unknown>)[name];
      if (given === undefined) continue;
      room.left -= name.length + nameLength;
      kept[name] = within(member as z.core.$ZodType, given, room);
    }
    return kept;
  }
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    const kept: unknown[] = [];
    for (const item of value) {
      if (room.left <= 0) {
        room.isCut = true;
        break;
      }
      kept.push(within(schema.element as z.core.$ZodType, item, room));
    }
    return kept;
  }
  if (typeof value === 'string') {
    const text = cutText(value, room);
    room.left -= bytesOf(text);
    return text;
  }
  if (typeof value !== 'object') {
    room.left -= String(value).length;
    return value;
  }
  const size = bytesOf(JSON.stringify(value));
  if (size <= room.left) {
    room.left -= size;
    return value;
  }
  room.isCut = true;
  return Array.isArray(value) ? [] : {};
}

/**
 * Shortens an output to what a model gets of it.
 * @param schema the members that are given
 * @param output in its wire form
 */
function shortened(schema: z.ZodObject, output: unknown): { value: Record<string, unknown>; isCut: boolean } {
  const room = { left: budget, isCut: false };
  return { value: within(schema, output, room) as Record<string, unknown>, isCut: room.isCut };
}

/** The part of a long text that a call wants, in UTF-16 code units, moved so that no character is divided, as far as it has bytes to. */
function rangeOf(text: string, offset: number, length: number) {
  const isLow = (at: number) => /[\udc00-\udfff]/.test(text.charAt(at));
  const from = isLow(offset) ? offset + 1 : offset;
  const to = Math.min(text.length, from + length);
  const part = beginningOf(text.slice(from, to < text.length && isLow(to) ? to + 1 : to), rangeBytes);
  return { part, range: { offset: from, length: part.length, total: text.length } };
}

/** Who calls tools, and where. */
export interface ToolCaller {
  call: Omit<Call, 'facts' | 'conditions'>;
  organization: string;
  project: string;
  /** Whether it may write to the default branch and to protected ones. */
  publish: boolean;
}

export type ToolOutcome =
  /** It has acted. `content` fits the tool's result schema; `link` leads to the dashboard. */
  | { kind: 'done'; content: Record<string, unknown>; link: string | null }
  /** It waits for consent to a phrase, and has done nothing. */
  | { kind: 'consent'; phrase: string; phrase_code: TextCode | null; holds: ToolInput };

/** What a person has agreed to: a phrase, for the versions that were read then. */
export interface Agreement {
  phrase: string;
  holds: ToolInput;
}

const range = {
  offset: z.int32().min(0, 'must be at least 0').optional().describe('Where the text begins, in characters; default 0'),
  length: z
    .int32()
    .min(1, 'must be at least 1')
    .max(rangeLengths.max, `must be at most ${rangeLengths.max}`)
    .optional()
    .describe(`Characters of text; default ${rangeLengths.default}`),
};
const shownRange = z.object({ offset: z.int(), length: z.int(), total: z.int() });
const confirm = z
  .string()
  .max(2_000)
  .optional()
  .describe('The phrase that the first call answers with, to agree to what it names; leave it out at first');
const next = z.string().optional().describe('What to call next');

/** The arguments of a tool, where it takes those of consent and of ranges too. */
export const argumentsOf = ({ inputs, consent, long }: Tool): z.ZodObject =>
  inputs.extend({ ...(long !== undefined && range), ...(consent && { confirm }) });

/** What a tool answers with. */
export const resultOf = ({ result, long }: Tool): z.ZodObject =>
  result.extend({ ...(long !== undefined && { range: shownRange }), next });

/** Whether a tool changes what is stored. */
export const changesSomething = ({ operation, fixed }: Tool): boolean =>
  operation.kind === 'command' && fixed?.save !== false;

/** What a tool does to what is stored, in the terms of the protocol's hints. */
export const hintsOf = (tool: Tool) => {
  const changes = changesSomething(tool);
  return {
    readOnlyHint: !changes,
    destructiveHint: changes && tool.consent !== undefined,
    idempotentHint: !changes || /\.(update|delete)/.test(tool.operation.name),
    openWorldHint: false,
  };
};

/** The permission a tool cannot do without. */
export function permissionOf({ operation }: Tool): Permission {
  if (!isGrantable(operation.permission)) throw new Error(`${operation.name} has no permission that can be granted`);
  return operation.permission;
}

/** JSON Schema of an object's members for a model or its client, which may refuse a format that JSON Schema does not define. */
export function schemaFor(schema: z.ZodObject): JsonSchema & { type: 'object' } {
  const { $schema: _, ...rest } = jsonSchemaOf(schema) as JsonSchema & { $schema?: string };
  const plain = JSON.stringify(rest, (key, value) => (key === 'format' && value === 'unix-time' ? undefined : value));
  return { ...JSON.parse(plain), type: 'object' };
}

/**
 * @param schema the arguments the tool takes here
 * @throws DomainError `invalid_request` naming the argument
 */
export function checkArguments(tool: Tool, given: ToolInput, schema = argumentsOf(tool)): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(schema.shape, name));
  if (unknown !== undefined) {
    const known = Object.keys(schema.shape).join(', ');
    throw fieldError('invalid_request', unknown.slice(0, 100), `is no argument of ${tool.name}; it takes ${known}`);
  }
  parseInput(schema, given);
}

/** Runs queries as the caller. */
export const callerReads =
  ({ call, organization, project }: ToolCaller): Read =>
  (operation, input) =>
    run(operation, { ...call, facts: {}, conditions: {} } as never, { ...input, organization, project });

/**
 * Reads for the service itself what a call depends on: its caller may act without being allowed to read. Nothing of it is shown but names and
 * versions.
 */
const reader = (caller: ToolCaller): Read => {
  const actor = systemActor('assistant', ['browse_studio'], caller.call.services.settings.public_host);
  return callerReads({ ...caller, call: { ...caller.call, actor } });
};

/**
 * Refuses a write to a branch that is public as soon as it moves, whether it exists or not, unless the caller may publish.
 * @param field input that names it
 * @throws DomainError `branch_protected`; `invalid_name` for what no branch can be named
 */
async function checkTarget({ publish }: ToolCaller, read: Read, field: string, branch: string): Promise<void> {
  if (publish) return;
  const rules = await read(readBranchRules, { name: checkRefName(field, branch) });
  const what = rules.default
    ? 'the default branch'
    : rules.protected
      ? 'protected'
      : rules.environment !== null && `deployed to ${rules.environment}`;
  if (!what) return;
  const instead =
    field === 'name' ? 'choose another name' : 'write to another branch (create_branch), then propose it (create_pull)';
  throw fieldError('branch_protected', field, `${branch} is ${what}, and this credential may not publish: ${instead}`);
}

/**
 * Looks at what a call acts on before it acts.
 * @returns what is to be agreed to, if anything
 * @throws DomainError for who may not act there at all, and for a branch that is not to be written to
 */
async function look(tool: Tool, caller: ToolCaller, input: ToolInput): Promise<Consent | undefined> {
  if (tool.publishes && !caller.publish)
    throw new DomainError('forbidden', `${tool.name} may change the public site, and this credential may not publish`);
  if (!tool.target && !tool.consent) return undefined;
  const { call, organization, project } = caller;
  await admitByPath(tool.operation, { ...call, facts: {}, conditions: {} }, { organization, project });
  const read = reader(caller);
  const consent = await tool.consent?.(read, input, { organization, project });
  const branch = consent?.into ?? (tool.target && input[tool.target]);
  if (typeof branch === 'string') await checkTarget(caller, read, tool.target ?? 'branch', branch);
  return consent;
}

/** What a call's answer lacks, and how to get it. */
function nextOf(tool: Tool, value: Record<string, unknown>, isCut: boolean): string | undefined {
  const { offset, length, total } = (value.range ?? { offset: 0, length: 0, total: 0 }) as Record<string, number>;
  const end = (offset ?? 0) + (length ?? 0);
  if (tool.long !== undefined && end < (total ?? 0))
    return `The ${tool.long} goes on: call ${tool.name} again with offset: ${end}`;
  if (isCut)
    return 'The answer was shortened: ask for less at once, by per_page, path or depth, or for one item by its name';
  if (value.has_next_page === true)
    return `There is more: call ${tool.name} again with page: ${Number(value.page) + 1}`;
  return undefined;
}

function shown(tool: Tool, output: unknown, given: ToolInput): Record<string, unknown> {
  const text = tool.long === undefined ? undefined : (output as Record<string, unknown>)[tool.long];
  const part =
    tool.long !== undefined && typeof text === 'string'
      ? rangeOf(text, Number(given.offset ?? 0), Number(given.length ?? rangeLengths.default))
      : null;
  const whole = part && tool.long ? { ...(output as object), [tool.long]: part.part } : output;
  const { value, isCut } = shortened(tool.result, whole);
  if (part) value.range = part.range;
  const more = nextOf(tool, value, isCut);
  return more === undefined ? value : { ...value, next: more };
}

const agrees = (agreed: unknown, { phrase, holds = {} }: Pick<Consent, 'phrase' | 'holds'>): boolean =>
  agreed === phrase || isDeepStrictEqual(agreed, { phrase, holds });

async function inspect(
  tool: Tool,
  caller: ToolCaller,
  given: ToolInput,
  input: ToolInput,
): Promise<Consent | undefined> {
  checkArguments(tool, given);
  return look(tool, caller, input);
}

/**
 * Calls a tool.
 * @param given its arguments, as a model or a client made them
 * @param agreed the phrase that was agreed to, or an `Agreement`, null for none; default: the argument `confirm`
 * @throws DomainError for what the operation refuses, and for arguments the tool does not take
 */
export async function callTool(
  tool: Tool,
  caller: ToolCaller,
  given: ToolInput,
  agreed: unknown = given.confirm,
): Promise<ToolOutcome> {
  const { call, organization, project } = caller;
  const input: ToolInput = { ...given };
  for (const name of ['confirm', ...Object.keys(tool.long === undefined ? {} : range)]) delete input[name];
  const own = { ...call, facts: {}, conditions: {} };
  const consent = await inspect(tool, caller, given, input).catch(async (error: unknown) => {
    // What the operation refuses leaves its row by itself.
    await recordRefusal(tool.operation, own, { ...input, organization, project }, error);
    throw error;
  });
  if (consent && !agrees(agreed, consent)) {
    const { phrase, phrase_code = null, holds = {} } = consent;
    return { kind: 'consent', phrase, phrase_code, holds };
  }
  const values = { ...input, ...tool.fixed, ...consent?.holds, organization, project };
  const answer = await run(tool.operation, own, values);
  const output = withoutSecrets(tool.operation, answer);
  const page = tool.page?.(input);
  const link = page === undefined ? null : `${call.services.settings.public_url}/p/${organization}/${project}/${page}`;
  return { kind: 'done', content: shown(tool, isRecord(output) ? output : { value: output }, given), link };
}

/** What a caller can do about a refusal, where its message does not say so. */
const advice: Partial<Record<ErrorCode, string>> = {
  sha_mismatch: 'Read it again, and repeat the call with its sha',
  branch_moved: 'Read it again, and repeat the call',
  already_exists: 'Choose another name, or change what is there',
  not_found: 'List what there is',
  merge_conflict: 'A person has to choose between both versions in the dashboard',
  validation_failed: 'get_schema says what the collection wants',
  in_use: 'Change first what names it',
  busy: 'Try again in a few seconds',
  unavailable: 'Try again in a few seconds',
};

/** A refusal as a model reads it. */
export function faultOf({ code, message, details }: DomainError) {
  const { errors, current_sha } = details ?? {};
  return {
    error: code,
    message: message.slice(0, 2_000),
    ...(errors && { errors: errors.slice(0, 20) }),
    ...(typeof current_sha === 'string' && { current_sha }),
    ...(advice[code] && { advice: advice[code] }),
  };
}

import { z } from 'zod';
import type { Permission } from '../../../kernel/actor.ts';
import { jsonValue } from '../../../kernel/shapes.ts';
import type { ExpressionError } from '../../../ports/expressions.ts';
import type { OrganizationRef } from '../../organizations/organization.entity.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { duration, hour } from '../definition/duration.ts';
import type { Place, Problem } from '../definition/parse-source.ts';
import type { StepRunError, StepWait } from '../executions/step-run.entity.ts';
import type { Evaluation, Scope } from '../expressions/evaluate.ts';
import { asText } from '../expressions/template.ts';
import type { StepOperations } from '../step-operations.ts';
import type { WorkflowServices } from '../workflows.ts';

// A type of step is one value: its schema, what of it is an expression, the lists of steps it holds, and how it begins, is planned and acts.
// Each has a file of its own here, and `../step-types.ts` lists them. What reads definitions, plans and runs steps knows them by this interface alone.

/** A word of a definition's own: the id of a step, the name of a branch, the code of a failure. */
export const word = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,39}$/, 'must begin with a letter and hold at most 40 of a–z, 0–9 and _');

/** JSONata without braces; that it parses is checked with everything else about expressions. */
export const expression = z.string().min(1, 'must not be empty');

/** Longest text of a step that people are shown: as it is written, and as its templates make it. */
const longestMessage = 10_000;

/** What people are shown; it may hold templates. */
export const message = z.string().max(longestMessage);

/** What is shown of a message whose templates are filled. */
export const messageOf = (filled: unknown): string => asText(filled).slice(0, longestMessage);

/** Any value whose strings may hold `${{ … }}`. */
export const template = jsonValue;

const retry = z.strictObject({
  attempts: z.int().min(1).max(20),
  delay: duration(hour).optional(),
  factor: z.number().min(1).max(10).optional(),
  max_delay: duration(hour).optional(),
  on: z.array(z.string().min(1)).min(1).max(20).optional(),
});

/** What all steps may have beside their `type`. */
export const common = {
  id: word,
  name: z.string().min(1).max(200).optional(),
  if: expression.optional(),
  retry: retry.optional(),
  on_error: z.enum(['fail', 'continue']).optional(),
};

/** The same, of those whose time can be limited; `most` in milliseconds. */
export const limited = (most: number) => ({ ...common, timeout: duration(most).optional() });

const anyStep = z.object({ ...limited(0), type: z.string() });

/** A step of any type. */
export type Step = z.output<typeof anyStep>;

/** The schema of a list of steps. */
export type StepList = z.ZodArray<z.ZodType<Step>>;

/** A list of steps within a step. */
export interface InnerList {
  /** From the step. */
  place: Place;
  /** What the paths of its runs have behind that of the step: `.then`; of a loop it is the number of the iteration instead. */
  path: string;
  steps: readonly Step[];
  /** Whether it runs when the step does, only if the run goes that way, or once for each item of a loop. */
  runs: 'always' | 'perhaps' | 'per_item';
}

/** How a step stands after the engine itself has done what it can of it. */
export interface Begun {
  /** `running`: it holds steps that come now, or has to act. */
  status: 'completed' | 'failed' | 'skipped' | 'running' | 'waiting';
  input?: object;
  output?: unknown;
  error?: StepRunError;
  waits_for?: StepWait;
  /** Milliseconds since 1970. */
  next_try_at?: number;
}

export const failed = (code: string, message: string): Begun => ({ status: 'failed', error: { code, message } });

export const timedOut = failed('timeout', 'The step took longer than it may');

/** How a list of steps stands. */
export type Outcome =
  | { kind: 'open' }
  | { kind: 'done'; output: unknown }
  | { kind: 'failed'; error: StepRunError }
  /** A step has ended the whole execution. */
  | { kind: 'ended'; output: unknown; path: string };

/** How far a loop has come. */
export interface Progress {
  done: number;
  total: number;
}

/** What a step that holds others plans them with. */
export interface Walk {
  /** How a list within the step stands. @param path behind that of the step: `.then`, `[3]` */
  list(path: string, steps: readonly Step[], item?: { item: unknown; index: number }): Outcome;
  /** What was made for this step at the first plan, so that the next ones need not look at everything again. */
  keep<T extends { progress: Progress }>(make: () => T): T;
}

/** One try at a step that acts on the outside or on the project. */
export interface StepCall<S extends Step = Step> {
  step: S;
  /** Of the step run: `fetch`, `each[3].save`. */
  path: string;
  execution_id: string;
  /** How many executions have started one another down to this one. */
  generation: number;
  workflow_id: string;
  /** Of the workflow's version, or empty. */
  permissions: readonly Permission[];
  /** From 1. */
  tries: number;
  /** Hex SHA-256, equal over tries and drivers of one execution, and over the retries that look for what a crash cut off. */
  idempotency_key: string;
  /** What expressions see, without `secrets`. */
  scope: Scope;
  /**
   * Values of the workflow's secrets with these names; null: of all.
   * @throws DomainError `not_found` with the reason `secret_not_set` when one is not set, `unavailable` when one cannot be opened
   */
  secrets(names: readonly string[] | null): Promise<Record<string, string>>;
  /** Takes room in the execution for what the step is about to act on, as it is kept. @throws InputTooLarge */
  admit(input: object): void;
  services: WorkflowServices;
  organization: OrganizationRef;
  project: ProjectRef;
  /** Aborted when the step's time is over or the execution is cancelled or taken over. */
  signal: AbortSignal;
}

/** Why a step failed. */
export interface StepError {
  code: string;
  message: string;
  [detail: string]: unknown;
}

/** UTF-16 units that an error keeps of its message, and of each other detail as JSON. */
const longestInError = { message: longestMessage, detail: 64 * 1024 };

/** A value as an error keeps it: itself where its JSON is short enough, else the beginning of its text. @param most UTF-16 units */
export function excerptOf(value: unknown, most: number): unknown {
  const text = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : '';
  return text.length > most ? text.slice(0, most) : value;
}

/** An error as it is kept: what it says and what comes with it may hold values of callers and peers, of any length. */
export const keptError = <E extends { code: string; message: string }>(error: E): E =>
  Object.fromEntries(
    Object.entries(error).map(([name, value]) => [
      name,
      excerptOf(value, name === 'message' ? longestInError.message : longestInError.detail),
    ]),
  ) as E;

/** The execution has no room for what a step is to begin with: it does not act. */
export class InputTooLarge extends Error {
  override name = 'InputTooLarge';
  readonly fault: StepError;

  /** @param most bytes of all that an execution keeps */
  constructor(most: number) {
    super(
      `The input does not fit: inputs, outputs and errors of an execution may have at most ${most} bytes together; give the step only what it needs`,
    );
    this.fault = { code: 'input_too_large', message: this.message };
  }
}

/** What a parked step waits for, beside time. */
export interface WaitsFor {
  kind: 'run' | 'deployment';
  id: number;
}

/** How a try ended; `input` is what the step acted on, with secrets taken out, for people who look at it later. */
export type StepResult =
  | { kind: 'completed'; output: unknown; input?: unknown }
  | { kind: 'waiting'; waits_for: WaitsFor; input?: unknown }
  | {
      kind: 'failed';
      error: StepError;
      input?: unknown;
      /** Whether another try can help at all. */
      isRetryable: boolean;
      /** Milliseconds the peer asks to wait before the next try. */
      retryAfter?: number;
    };

/** What an expression without a value means for a step that acts: it cannot help to try again, unless the server could evaluate nothing. */
export const expressionFailed = ({ fault, message }: ExpressionError): StepResult =>
  fault === 'unavailable'
    ? { kind: 'failed', error: { code: 'unavailable', message }, isRetryable: true }
    : { kind: 'failed', error: { code: 'bad_expression', message }, isRetryable: false };

/** What a step type that acts on the outside or on the project does. */
export interface Acting<S extends Step> {
  act(call: StepCall<S>): Promise<StepResult>;
  /** How long a try may take when its definition does not say; milliseconds. */
  limit: number;
  /** How often it is tried when its definition does not say; only failures that another try can help count. */
  attempts(step: S): number;
  /** Ends that do not say whether it was done. */
  unknownEnds?: ReadonlySet<string>;
}

/** What holds a definition's steps together, for a type that checks more than its schema does. */
interface Checked {
  permissions: ReadonlySet<Permission>;
  operations: StepOperations;
}

/** One type of step. Names of fields are those of the definition. */
export interface StepType<S extends Step = Step> {
  type: string;
  /** @param list of the lists of steps within */
  schema(list: StepList): z.ZodObject;
  /** Fields that are JSONata. */
  expressions?: readonly (keyof S & string)[];
  /** Fields whose strings may hold templates. */
  templates?: readonly (keyof S & string)[];
  /** Whether its templates may name secrets. */
  maySecret?: true;
  /** Faults its schema cannot see. */
  check?(step: S, place: Place, checked: Checked): Problem[];
  /** The lists of steps within, in the order of the text. */
  lists?(step: S): InnerList[];
  /** Exactly one of its lists runs. */
  takesOne?: true;
  /** Its completion or failure ends the whole execution. */
  ends?: true;
  /** Does what needs nothing of the outside; without it the step holds others or acts, and is under way at once. */
  begin?(step: S, evaluation: Evaluation, now: number): Begun | Promise<Begun>;
  /** How what it holds stands. @param input as it began with */
  plan?(step: S, input: unknown, walk: Walk): Outcome;
  /** Whether `timeout` bounds what it holds. */
  boundsInner?: true;
  /** Whether an iteration or branch within may fail without its own failure. */
  tolerates?(step: S): boolean;
  /** What comes when the time is over that it waits for. @param input as it began with */
  expire?(step: S, input: unknown): Begun;
  acting?: Acting<S>;
}

/** Forgets the type's own fields: what works with all types gives each only its own steps. */
export const stepType = <S extends Step>(type: StepType<S>): StepType => type as unknown as StepType;

import type { WorkflowDefinition } from '../definition/definition.schema.ts';
import { parseDuration } from '../definition/duration.ts';
import { typeOf } from '../step-types.ts';
import type { Outcome, Progress, Step, Walk } from '../steps/step-type.ts';
import { type Action, type Plan, PlanScope, type Site, type StepState } from './plan.ts';

/** What a step run that has come to its end means for the list it stands in. */
function outcomeOf(step: Step, { status, output, error, path }: StepState): Outcome {
  if (status === 'failed' && step.on_error !== 'continue')
    return { kind: 'failed', error: { path, ...(error ?? { code: 'failed', message: 'The step failed' }) } };
  if (status !== 'completed') return { kind: 'done', output: null };
  return typeOf(step).ends ? { kind: 'ended', output: output ?? null, path } : { kind: 'done', output: output ?? null };
}

type Runs = ReadonlyMap<string, StepState>;

/** Lets the steps that come later see one that has run, and what ran within it; a loop holds its iterations' outputs itself. */
function showRun(runs: Runs, step: Step, run: StepState, scope: PlanScope): void {
  for (const list of typeOf(step).lists?.(step) ?? []) {
    if (list.runs === 'per_item') continue;
    const inner = new PlanScope();
    showRuns(runs, list.steps, `${run.path}${list.path}.`, inner);
    scope.merge(inner);
  }
  scope.add(run);
}

/** The same for those of a list that have run. */
function showRuns(runs: Runs, steps: readonly Step[], prefix: string, scope: PlanScope): void {
  for (const step of steps) {
    const run = runs.get(prefix + step.id);
    if (run !== undefined) showRun(runs, step, run, scope);
  }
}

/** What the steps of a plan wait for. */
class Waits {
  readonly #now: number;
  /** When the first of them goes on, milliseconds since 1970; null: none does by itself. */
  due: number | null = null;
  forInput = false;
  otherwise = false;

  constructor(now: number) {
    this.#now = now;
  }

  /** @returns whether a time has come; one that has not is remembered */
  isDue(at: number | null): boolean {
    if (at === null) return false;
    if (at <= this.#now) return true;
    this.due = Math.min(this.due ?? at, at);
    return false;
  }
}

const open: Outcome = { kind: 'open' };

/**
 * Says from a definition and its step runs what may run next. It decides by nothing else: the same runs give the same plan, in any process
 * and in whatever order they came about.
 */
export class Planner {
  readonly #definition: Pick<WorkflowDefinition, 'steps' | 'on_failure'>;
  readonly #runs: ReadonlyMap<string, StepState>;
  /** What steps keep from one plan to the next, by path. */
  readonly #kept = new Map<string, { progress: Progress }>();
  #actions: Action[] = [];
  #waits = new Waits(0);

  constructor(definition: Pick<WorkflowDefinition, 'steps' | 'on_failure'>, runs: ReadonlyMap<string, StepState>) {
    this.#definition = definition;
    this.#runs = runs;
  }

  /** How far the loops have come that are under way. */
  *progress(): Generator<{ path: string; done: number; total: number }> {
    for (const [path, { progress }] of this.#kept) if (progress.done < progress.total) yield { path, ...progress };
  }

  /** @param now milliseconds since 1970 */
  plan(now: number, part: 'steps' | 'on_failure' = 'steps'): Plan {
    this.#actions = [];
    this.#waits = new Waits(now);
    const scope = new PlanScope();
    let outcome: Outcome;
    if (part === 'steps') outcome = this.#list(this.#definition.steps, '', scope);
    else {
      showRuns(this.#runs, this.#definition.steps, '', scope);
      outcome = this.#list(this.#definition.on_failure ?? [], 'on_failure.', scope);
    }
    const { due, forInput, otherwise } = this.#waits;
    return { actions: this.#actions, outcome, due, waitsForInput: forInput, waitsOtherwise: otherwise, scope };
  }

  #list(steps: readonly Step[], prefix: string, scope: PlanScope): Outcome {
    let output: unknown = null;
    for (const step of steps) {
      const path = prefix + step.id;
      const run = this.#runs.get(path);
      const outcome = this.#step({ step, path, scope }, run);
      if (outcome.kind !== 'done') return outcome;
      output = outcome.output;
      if (run !== undefined) showRun(this.#runs, step, run, scope);
    }
    return { kind: 'done', output };
  }

  #step(site: Site, run: StepState | undefined): Outcome {
    const { step } = site;
    if (run === undefined) return this.#act({ kind: 'begin', site });
    switch (run.status) {
      case 'completed':
      case 'skipped':
      case 'failed':
        return outcomeOf(step, run);
      case 'cancelled':
        return open;
      case 'pending':
        return this.#act({ kind: 'try', site });
      case 'waiting':
        return this.#waiting(site, run);
      case 'running':
        return this.#within(site, run);
    }
  }

  #act(action: Action): Outcome {
    this.#actions.push(action);
    return open;
  }

  #waiting(site: Site, run: StepState): Outcome {
    if (this.#waits.isDue(run.next_try_at))
      return this.#act({ kind: typeOf(site.step).expire ? 'expire' : 'try', site });
    if (run.waits_for?.kind === 'input') this.#waits.forInput = true;
    else this.#waits.otherwise = true;
    return open;
  }

  /** A step that is under way, by what it holds. */
  #within(site: Site, run: StepState): Outcome {
    const { step } = site;
    const { plan, boundsInner } = typeOf(step);
    if (plan === undefined) {
      this.#waits.otherwise = true;
      return open;
    }
    const limit = boundsInner ? parseDuration(step.timeout) : null;
    if (limit !== null && this.#waits.isDue(run.started_at + limit)) return this.#act({ kind: 'expire', site });
    const before = this.#actions.length;
    const outcome = plan(step, run.input, this.#walk(site));
    // What was about to run beside a failure does not.
    if (outcome.kind === 'failed' || outcome.kind === 'ended') this.#actions.length = before;
    return this.#end(site, outcome);
  }

  #end(site: Site, outcome: Outcome): Outcome {
    if (outcome.kind === 'done') return this.#act({ kind: 'complete', site, output: outcome.output });
    if (outcome.kind === 'failed') return this.#act({ kind: 'fail', site, error: outcome.error });
    return outcome;
  }

  #walk({ path, scope }: Site): Walk {
    return {
      list: (within, steps, item) => this.#list(steps, `${path}${within}.`, new PlanScope(scope, item)),
      keep: <T extends { progress: Progress }>(make: () => T) => {
        // Only the step at this path has put anything there.
        const kept = (this.#kept.get(path) as T | undefined) ?? make();
        this.#kept.set(path, kept);
        return kept;
      },
    };
  }
}

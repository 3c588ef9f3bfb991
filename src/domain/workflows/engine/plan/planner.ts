import type { WorkflowDefinition } from '../../definition/definition.schema.ts';
import { parseDuration } from '../../definition/duration.ts';
import type { Step } from '../../definition/step.schema.ts';
import { planBranches } from './branches.ts';
import { Loop } from './loop.ts';
import { outcomeOf } from './outcome-of.ts';
import type { Action, Outcome, Plan, Site } from './plan.ts';
import { PlanScope } from './scope.ts';
import { showRun, showRuns } from './show-runs.ts';
import type { StepState } from './step-state.ts';
import { Waits } from './waits.ts';

const open: Outcome = { kind: 'open' };

/**
 * Says from a definition and its step runs what may run next. It decides by nothing else: the same runs give the same plan, whoever asks
 * and in whatever order they came about.
 */
export class Planner {
  readonly #definition: Pick<WorkflowDefinition, 'steps' | 'on_failure'>;
  readonly #runs: ReadonlyMap<string, StepState>;
  readonly #loops = new Map<string, Loop>();
  #actions: Action[] = [];
  #waits = new Waits(0);

  constructor(definition: Pick<WorkflowDefinition, 'steps' | 'on_failure'>, runs: ReadonlyMap<string, StepState>) {
    this.#definition = definition;
    this.#runs = runs;
  }

  /** How far the loops have come that are under way. */
  *progress(): Generator<{ path: string; done: number; total: number }> {
    for (const [path, { progress }] of this.#loops) if (progress.done < progress.total) yield { path, ...progress };
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
    const isEnd = site.step.type === 'delay' || site.step.type === 'wait_for_input';
    if (this.#waits.isDue(run.next_try_at)) return this.#act({ kind: isEnd ? 'expire' : 'try', site });
    if (run.waits_for?.kind === 'input') this.#waits.forInput = true;
    else this.#waits.otherwise = true;
    return open;
  }

  /** A step that is under way, by what it holds. */
  #within(site: Site, run: StepState): Outcome {
    const { step, path, scope } = site;
    switch (step.type) {
      case 'condition': {
        const isTrue = (run.input as { result?: boolean } | null)?.result === true;
        const name = isTrue ? 'then' : 'else';
        return this.#end(site, this.#list(step[name] ?? [], `${path}.${name}.`, new PlanScope(scope)));
      }
      case 'wait_for_input': {
        const late = Array.isArray(step.on_timeout) ? step.on_timeout : [];
        return this.#end(site, this.#list(late, `${path}.on_timeout.`, new PlanScope(scope)));
      }
      case 'for_each':
      case 'parallel': {
        const limit = step.timeout === undefined ? null : parseDuration(step.timeout);
        if (this.#waits.isDue(limit === null ? null : run.started_at + limit))
          return this.#act({ kind: 'expire', site });
        const before = this.#actions.length;
        const outcome = step.type === 'parallel' ? this.#branches(site, step) : this.#iterations(site, step, run);
        // What was about to run beside a failure does not.
        if (outcome.kind === 'failed' || outcome.kind === 'ended') this.#actions.length = before;
        return this.#end(site, outcome);
      }
      default:
        this.#waits.otherwise = true;
        return open;
    }
  }

  #end(site: Site, outcome: Outcome): Outcome {
    if (outcome.kind === 'done') return this.#act({ kind: 'complete', site, output: outcome.output });
    if (outcome.kind === 'failed') return this.#act({ kind: 'fail', site, error: outcome.error });
    return outcome;
  }

  #branches({ path, scope }: Site, step: Extract<Step, { type: 'parallel' }>): Outcome {
    return planBranches(step, (name, steps) => this.#list(steps, `${path}.${name}.`, new PlanScope(scope)));
  }

  #iterations({ path, scope }: Site, step: Extract<Step, { type: 'for_each' }>, run: StepState): Outcome {
    const { items } = run.input as { items: unknown[] };
    const loop = this.#loops.get(path) ?? new Loop(items);
    this.#loops.set(path, loop);
    return loop.plan(step, (index, item) =>
      this.#list(step.do, `${path}[${index}].`, new PlanScope(scope, { item, index })),
    );
  }
}

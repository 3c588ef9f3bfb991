import type { WorkflowDefinition } from '../definition/definition.schema.ts';
import { parseDuration, type Step } from '../definition/step.schema.ts';
import { type Action, type Outcome, type Plan, PlanScope, type Site, type StepState } from './plan.ts';

/** How branches stand that run side by side; `walk` says how the steps of one do. */
function planBranches(
  { branches, on_branch_error }: Extract<Step, { type: 'parallel' }>,
  walk: (name: string, steps: readonly Step[]) => Outcome,
): Outcome {
  const outputs: Record<string, unknown> = {};
  let failure: Outcome | null = null;
  let isOpen = false;
  for (const [name, steps] of Object.entries(branches)) {
    const outcome = walk(name, steps);
    if (outcome.kind === 'ended') return outcome;
    if (outcome.kind === 'done') outputs[name] = outcome.output;
    if (outcome.kind === 'open') isOpen = true;
    if (outcome.kind === 'failed') failure ??= outcome;
  }
  if (failure !== null && (!isOpen || on_branch_error !== 'wait')) return failure;
  return isOpen ? { kind: 'open' } : { kind: 'done', output: outputs };
}

/** The lists within a step whose steps others may see, each with what their paths begin with. */
function listsOf(step: Step, path: string): [prefix: string, steps: readonly Step[]][] {
  if (step.type === 'condition')
    return [
      [`${path}.then.`, step.then ?? []],
      [`${path}.else.`, step.else ?? []],
    ];
  if (step.type === 'parallel')
    return Object.entries(step.branches).map(([name, steps]) => [`${path}.${name}.`, steps]);
  if (step.type === 'wait_for_input' && Array.isArray(step.on_timeout))
    return [[`${path}.on_timeout.`, step.on_timeout]];
  return [];
}

/** What is settled of a loop, so that ten thousand iterations are not looked at again with every step. */
class Loop {
  readonly #items: readonly unknown[];
  readonly #outputs: unknown[] = [];
  readonly #isSettled: boolean[] = [];
  #settled = 0;
  #first = 0;

  constructor(items: readonly unknown[]) {
    this.#items = items;
  }

  /** How many iterations have come to their end, of how many. */
  get progress(): { done: number; total: number } {
    return { done: this.#settled, total: this.#items.length };
  }

  /** How the loop stands; `iterate` says how one of its iterations does. */
  plan(
    { concurrency = 1, item_on_error }: Extract<Step, { type: 'for_each' }>,
    iterate: (index: number, item: unknown) => Outcome,
  ): Outcome {
    let underWay = 0;
    for (let index = this.#first; index < this.#items.length && underWay < concurrency; index += 1) {
      if (this.#isSettled[index]) continue;
      const outcome = iterate(index, this.#items[index]);
      if (outcome.kind === 'ended') return outcome;
      if (outcome.kind === 'failed' && item_on_error !== 'continue') return outcome;
      if (outcome.kind === 'open') underWay += 1;
      else this.#settle(index, outcome.kind === 'done' ? outcome.output : null);
    }
    return this.#settled < this.#items.length ? { kind: 'open' } : { kind: 'done', output: this.#outputs };
  }

  #settle(index: number, output: unknown): void {
    this.#outputs[index] = output;
    this.#isSettled[index] = true;
    this.#settled += 1;
    while (this.#isSettled[this.#first]) this.#first += 1;
  }
}

/** What a step run that has come to its end means for the list it stands in. */
function outcomeOf(step: Step, { status, output, error, path }: StepState): Outcome {
  if (status === 'failed' && step.on_error !== 'continue')
    return { kind: 'failed', error: { path, ...(error ?? { code: 'failed', message: 'The step failed' }) } };
  if (status !== 'completed') return { kind: 'done', output: null };
  return step.type === 'output'
    ? { kind: 'ended', output: output ?? null, path }
    : { kind: 'done', output: output ?? null };
}

type Runs = ReadonlyMap<string, StepState>;

/** Lets the steps that come later see one that has run, and what ran within it; a loop holds its iterations' outputs itself. */
function showRun(runs: Runs, step: Step, run: StepState, scope: PlanScope): void {
  for (const [prefix, steps] of listsOf(step, run.path)) {
    const inner = new PlanScope();
    showRuns(runs, steps, prefix, inner);
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

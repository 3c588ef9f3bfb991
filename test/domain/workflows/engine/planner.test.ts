import { describe, expect, it } from 'vitest';
import { type Action, isWithin, type Plan, type StepState } from '../../../../src/domain/workflows/engine/plan.ts';
import { Planner } from '../../../../src/domain/workflows/engine/planner.ts';
import type { Step } from '../../../../src/domain/workflows/steps/step-type.ts';
import fc from '../../../support/properties.ts';

const call = (id: string, more: object = {}): Step =>
  ({ id, type: 'http', url: 'https://example.com/', ...more }) as Step;

/** Steps as they could be written, with ids that are used once. */
function stepsArbitrary(): fc.Arbitrary<Step[]> {
  const { tree } = fc.letrec<{ list: object[]; step: object; tree: object[] }>((tie) => ({
    tree: fc.array(tie('step'), { minLength: 1, maxLength: 4 }),
    list: fc.array(tie('step'), { minLength: 1, maxLength: 3 }),
    step: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.record({ type: fc.constant('http'), on_error: fc.constantFrom('fail', 'continue') }),
      fc.record({ type: fc.constant('condition'), then: tie('list'), else: tie('list') }),
      fc.record({ type: fc.constant('for_each'), do: tie('list'), concurrency: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ type: fc.constant('parallel'), left: tie('list'), right: tie('list') }),
    ),
  }));
  return tree.map((steps) => {
    let count = 0;
    const named = (list: object[]): Step[] =>
      list.map((raw) => {
        const { left, right, ...step } = raw as Record<string, object[]>;
        const id = `s${++count}`;
        const inner = Object.fromEntries(
          ['then', 'else', 'do'].flatMap((key) => (step[key] ? [[key, named(step[key])]] : [])),
        );
        const branches =
          left && right ? { branches: { left: named(left), right: named(right) }, on_branch_error: 'wait' } : {};
        return { ...step, ...inner, ...branches, id } as unknown as Step;
      });
    return named(steps);
  });
}

/** What becomes of a step, whenever and by whomever it is run. */
const fateOf = (path: string, failing: ReadonlySet<string>) =>
  [...path].reduce((sum, char) => sum + char.charCodeAt(0), 0) % 7 === 0 && failing.size > 0;

/** Runs a plan to its end; `pick` says which of the steps under way ends next, and whether the planner forgets what it remembers. */
function execute(steps: readonly Step[], pick: (count: number) => number, canFail: boolean, forgets: boolean) {
  const runs = new Map<string, StepState>();
  let planner = new Planner({ steps: [...steps] }, runs);
  const underWay: Action[] = [];
  const begun: string[] = [];
  const open = ({ site: { step, path } }: Action, change: Partial<StepState>) => {
    if (!runs.has(path)) begun.push(path);
    const fresh: StepState = {
      path,
      position: runs.size + 1,
      step_id: step.id,
      type: step.type,
      status: 'running',
      tries: 1,
      input: null,
      output: null,
      output_sha256: null,
      error: null,
      waits_for: null,
      tried_in: null,
      started_at: 0,
      finished_at: null,
      next_try_at: null,
    };
    runs.set(path, Object.assign(runs.get(path) ?? fresh, change));
  };
  for (let turns = 0; ; turns += 1) {
    if (turns > 5_000) throw new Error('it does not end');
    if (forgets) planner = new Planner({ steps: [...steps] }, runs);
    const plan: Plan = planner.plan(0);
    if (plan.outcome.kind !== 'open') return { outcome: plan.outcome, runs, begun };
    for (const action of plan.actions) {
      const { site } = action;
      if (action.kind === 'complete') open(action, { status: 'completed', output: action.output });
      else if (action.kind === 'fail') {
        for (const run of runs.values())
          if (isWithin(run.path, site.path) && run.status === 'running') run.status = 'cancelled';
        open(action, { status: 'failed', error: action.error });
      } else if (site.step.type === 'http') {
        open(action, {});
        underWay.push(action);
      } else if (site.step.type === 'condition') open(action, { input: { result: site.path.length % 2 === 0 } });
      else if (site.step.type === 'for_each') open(action, { input: { items: [1, 2, 3, 4, 5] } });
      else open(action, {});
    }
    if (plan.actions.length > 0) continue;
    const [next] = underWay.splice(pick(underWay.length), 1);
    if (!next) throw new Error('nothing can run, and it has not ended');
    const run = runs.get(next.site.path);
    if (run?.status !== 'running') continue;
    if (canFail && fateOf(run.path, new Set(['x'])))
      open(next, { status: 'failed', error: { code: 'no', message: 'no' } });
    else open(next, { status: 'completed', output: run.path });
  }
}

const picks = (seed: number) => {
  let state = seed;
  return (count: number) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return count === 0 ? 0 : state % count;
  };
};

describe('the plan', () => {
  it('comes to the same end in whatever order steps end, whether or not it is made anew', () => {
    fc.assert(
      fc.property(stepsArbitrary(), fc.integer({ min: 1, max: 1e9 }), fc.boolean(), (steps, seed, forgets) => {
        const straight = execute(steps, () => 0, false, false);
        const other = execute(steps, picks(seed), false, forgets);
        expect(other.outcome).toEqual(straight.outcome);
        expect(new Set(other.runs.keys())).toEqual(new Set(straight.runs.keys()));
        // No step is begun twice.
        expect(new Set(other.begun).size).toBe(other.begun.length);
      }),
      { numRuns: 60 },
    );
  });

  it('ends also when steps fail, with nothing under way that may still act', () => {
    fc.assert(
      fc.property(stepsArbitrary(), fc.integer({ min: 1, max: 1e9 }), (steps, seed) => {
        const { outcome, begun } = execute(steps, picks(seed), true, false);
        expect(['done', 'failed']).toContain(outcome.kind);
        expect(new Set(begun).size).toBe(begun.length);
      }),
      { numRuns: 60 },
    );
  });

  const planOf = (steps: Step[], runs: Partial<StepState>[], now = 0) => {
    const known = runs.map((run) => [
      run.path as string,
      {
        tries: 1,
        input: null,
        output: null,
        error: null,
        waits_for: null,
        started_at: 0,
        next_try_at: null,
        ...run,
      } as StepState,
    ]);
    return new Planner({ steps }, new Map(known as [string, StepState][])).plan(now);
  };
  const briefly = ({ actions }: Plan) => actions.map(({ kind, site }) => `${kind} ${site.path}`);

  it('begins one step after the other', () => {
    const steps = [call('a'), call('b')];
    expect(briefly(planOf(steps, []))).toEqual(['begin a']);
    expect(briefly(planOf(steps, [{ path: 'a', status: 'running', type: 'http' }]))).toEqual([]);
    expect(briefly(planOf(steps, [{ path: 'a', status: 'completed', output: 1 }]))).toEqual(['begin b']);
  });

  it('repeats what was broken off, and what waits when its time has come', () => {
    const steps = [call('a')];
    expect(briefly(planOf(steps, [{ path: 'a', status: 'pending' }]))).toEqual(['try a']);
    const waiting = { path: 'a', status: 'waiting' as const, next_try_at: 10 };
    expect(planOf(steps, [waiting], 9)).toMatchObject({ actions: [], due: 10, waitsOtherwise: true });
    expect(briefly(planOf(steps, [waiting], 10))).toEqual(['try a']);
  });

  it('keeps as many iterations under way as it may', () => {
    const loop = { id: 'each', type: 'for_each', items: 'x', concurrency: 2, do: [call('a')] } as Step;
    const run = { path: 'each', status: 'running' as const, input: { items: [1, 2, 3] } };
    expect(briefly(planOf([loop], [run]))).toEqual(['begin each[0].a', 'begin each[1].a']);
    const first = { path: 'each[1].a', status: 'completed' as const };
    expect(briefly(planOf([loop], [run, first]))).toEqual(['begin each[0].a', 'begin each[2].a']);
  });

  it('ends a loop with its first failed iteration, unless the others are to go on', () => {
    const loop = (more: object) => ({ id: 'each', type: 'for_each', items: 'x', do: [call('a')], ...more }) as Step;
    const run = { path: 'each', status: 'running' as const, input: { items: [1, 2] } };
    const failed = { path: 'each[0].a', status: 'failed' as const, error: { code: 'no', message: 'no' } };
    expect(planOf([loop({})], [run, failed]).actions).toMatchObject([{ kind: 'fail', error: { path: 'each[0].a' } }]);
    expect(briefly(planOf([loop({ item_on_error: 'continue' })], [run, failed]))).toEqual(['begin each[1].a']);
    const rest = { path: 'each[1].a', status: 'completed' as const, output: 2 };
    expect(planOf([loop({ item_on_error: 'continue' })], [run, failed, rest]).actions).toMatchObject([
      { kind: 'complete', output: [null, 2] },
    ]);
  });

  it('waits for the other branches of one that failed only when configured to', () => {
    const fork = (on_branch_error: string) =>
      ({ id: 'both', type: 'parallel', branches: { left: [call('a')], right: [call('b')] }, on_branch_error }) as Step;
    const runs = [
      { path: 'both', status: 'running' as const },
      { path: 'both.left.a', status: 'failed' as const, error: { code: 'no', message: 'no' } },
      { path: 'both.right.b', status: 'running' as const },
    ];
    expect(briefly(planOf([fork('cancel_others')], runs))).toEqual(['fail both']);
    expect(briefly(planOf([fork('wait')], runs))).toEqual([]);
  });

  it('lets a step see those before it, in branches that have ended too, and not into loops', () => {
    const steps = [
      call('a'),
      { id: 'both', type: 'parallel', branches: { left: [call('b')] } },
      { id: 'each', type: 'for_each', items: 'x', do: [call('c')] },
      call('d'),
    ] as Step[];
    const done = (path: string, step_id: string) => ({ path, step_id, status: 'completed' as const, output: path });
    const plan = planOf(steps, [
      done('a', 'a'),
      done('both', 'both'),
      done('both.left.b', 'b'),
      done('each', 'each'),
      done('each[0].c', 'c'),
    ]);
    const seen = plan.actions[0]?.site.scope.values().steps ?? {};
    expect(Object.keys(seen).sort()).toEqual(['a', 'b', 'both', 'each']);
    expect(seen.b).toEqual({ output: 'both.left.b', status: 'completed', error: null });
  });
});

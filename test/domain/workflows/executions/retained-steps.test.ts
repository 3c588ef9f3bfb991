import { describe, expect, it } from 'vitest';
import { retainedSteps } from '../../../../src/domain/workflows/executions/retry-execution.ts';
import type { StepStatus } from '../../../../src/domain/workflows/executions/step-run.entity.ts';
import type { Step } from '../../../../src/domain/workflows/steps/step-type.ts';

const call = (id: string, more: object = {}): Step =>
  ({ id, type: 'http', url: 'https://example.com/', ...more }) as Step;

/** What is retained, `path kept` or `path open`; runs are given as `path status`. */
const retained = (steps: Step[], runs: string[]) =>
  retainedSteps(
    { steps },
    runs.map((text) => {
      const [path = '', status] = text.split(' ') as [string, StepStatus];
      return { path, status, step_id: path.slice(path.lastIndexOf('.') + 1) };
    }),
  ).map(({ path, kept }) => `${path} ${kept ? 'kept' : 'open'}`);

describe('what does not run again when an execution is tried again', () => {
  it('is what was completed or skipped, not what failed or was broken off', () => {
    const steps = [call('a'), call('b'), call('c')];
    expect(retained(steps, ['a completed', 'b skipped', 'c failed'])).toEqual(['a kept', 'b kept']);
    expect(retained(steps, ['a completed', 'b cancelled'])).toEqual(['a kept']);
  });

  it('is a failure after which it went on', () => {
    const steps = [call('a', { on_error: 'continue' }), call('b')];
    expect(retained(steps, ['a failed', 'b failed'])).toEqual(['a kept']);
  });

  it('is all that lies within a step that failed and may', () => {
    const both = { id: 'both', type: 'parallel', on_error: 'continue', branches: { l: [call('a')], r: [call('b')] } };
    const runs = ['both failed', 'both.l.a failed', 'both.r.b cancelled', 'c failed'];
    expect(retained([both as never, call('c')], runs)).toEqual(['both kept', 'both.l.a kept', 'both.r.b kept']);
  });

  it('is an iteration that failed and may, but not one that was broken off', () => {
    const each = { id: 'each', type: 'for_each', items: 'x', item_on_error: 'continue', do: [call('a'), call('b')] };
    const runs = ['each cancelled', 'each[0].a failed', 'each[1].a completed', 'each[1].b cancelled'];
    expect(retained([each as never], runs)).toEqual(['each open', 'each[0].a kept', 'each[1].a kept']);
    const { item_on_error: _, ...strict } = each;
    expect(retained([strict as never], runs)).toEqual(['each open', 'each[1].a kept']);
  });

  it('leaves steps that hold others open as deep as they go, and begins those anew that never held any', () => {
    const steps = [
      {
        id: 'check',
        type: 'condition',
        expression: 'true',
        then: [{ id: 'each', type: 'for_each', items: 'x', do: [call('a'), call('b')] }],
      },
      { id: 'other', type: 'condition', expression: '$error()' },
    ];
    const runs = [
      'check failed',
      'check.then.each failed',
      'check.then.each[0].a completed',
      'check.then.each[0].b failed',
    ];
    expect(retained(steps, runs)).toEqual(['check open', 'check.then.each open', 'check.then.each[0].a kept']);
    expect(retained(steps, ['other failed'])).toEqual([]);
  });

  it('leaves out the steps for failures, however they are called', () => {
    expect(retained([call('a')], ['a failed', 'on_failure.note completed'])).toEqual([]);
  });

  it('leaves open what was cut off while it acted, with the execution it was first tried in', () => {
    const each = { id: 'each', type: 'for_each', items: 'x', do: [call('a'), call('b')] } as Step;
    const runs = [
      { path: 'each', step_id: 'each', status: 'cancelled' as const },
      { path: 'each[0].a', step_id: 'a', status: 'completed' as const, tried_in: null },
      { path: 'each[0].b', step_id: 'b', status: 'cancelled' as const, tried_in: 'first' },
      { path: 'each[1].a', step_id: 'a', status: 'cancelled' as const, tried_in: null },
    ];
    expect(retainedSteps({ steps: [each] }, runs)).toEqual([
      { path: 'each', kept: false },
      { path: 'each[0].a', kept: true },
      { path: 'each[0].b', kept: false, tried_in: 'first' },
    ]);
  });
});

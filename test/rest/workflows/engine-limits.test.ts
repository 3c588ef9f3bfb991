import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sizeOfStepRows, storeValue } from '../../../src/domain/workflows/engine/checkpoints.ts';
import { executionLimits } from '../../../src/domain/workflows/engine/journal.ts';
import { shared } from '../../support/app.ts';
import { startExecutingApp } from '../../support/workflows/executing.ts';
import { startPeer } from '../../support/workflows/peer.ts';

const app = shared(() => startExecutingApp({ PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' }));
const usual = { ...executionLimits };
beforeEach(() => {
  app.clock.now = new Date('2026-03-01T08:00:00Z');
});
afterEach(() => void Object.assign(executionLimits, usual));

const transform = (id: string, expression: string, more: object = {}) => ({
  id,
  type: 'transform',
  expression,
  ...more,
});
const each = (items: string, steps: object[], more: object = {}) => ({
  id: 'each',
  type: 'for_each',
  items,
  do: steps,
  ...more,
});

/** Runs steps and looks at what becomes of them. */
async function outcome(steps: object[], input: unknown = null, more: object = {}) {
  const workflow = await app.save({ portico: 'workflow/1', steps, ...more });
  const id = await app.begin(workflow, input);
  await app.settle();
  return { ended: await app.look(workflow, id), workflow, id };
}

describe('a loop', () => {
  const items = (count: number) => Array.from({ length: count }, (_, index) => index);

  it('goes through 10,000 items, and not through one more', async () => {
    const whole = (await outcome([each('input', [transform('a', 'index')])], items(10_000))).ended;
    expect([whole.status, whole.output.length, whole.output.at(-1)]).toEqual(['completed', 10_000, 9_999]);
    const refused = (await outcome([each('input', [transform('a', 'index')])], items(10_001))).ended;
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'too_many_items', path: 'each' } });
    expect(refused.steps).toHaveLength(1);
  });

  it('that reaches the most step runs of an execution ends it, without its steps for failures', async () => {
    executionLimits.stepRuns = 21;
    const fits = await outcome([each('input', [transform('a', '1')])], items(20));
    expect(fits.ended.status).toBe('completed');
    const more = { on_failure: [transform('note', 'error.code')] };
    const { ended } = await outcome([each('input', [transform('a', '1')])], items(21), more);
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'too_many_steps', path: null } });
    expect(ended.steps.map(({ path }: { path: string }) => path)).not.toContain('on_failure.note');
    expect(new Set(ended.steps.map(({ status }: { status: string }) => status))).toEqual(
      new Set(['completed', 'cancelled']),
    );
  });

  it('that has too many events ends the same way', async () => {
    // Created, started, the loop's start, two items, its end; the end of the execution is always recorded.
    executionLimits.events = 6;
    expect((await outcome([each('input', [transform('a', '1')])], items(2))).ended.status).toBe('completed');
    const { ended } = await outcome([each('input', [transform('a', '1')])], items(20));
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'too_many_events' } });
  });

  it('counts outputs of an execution together', async () => {
    executionLimits.context = 100;
    const text = 'x'.repeat(48);
    expect((await outcome([transform('a', 'input'), transform('b', 'input')], text)).ended.status).toBe('completed');
    const { ended } = await outcome([transform('a', 'input'), transform('b', 'input')], `${text}x`);
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'context_too_large' } });
  });

  it('counts the errors it goes on after with them, and weighs them before they are read', async () => {
    const refused = [{ id: 'a', type: 'fail', message: '${{ input }}' }];
    const loop = [{ ...each('[1, 2]', refused, { item_on_error: 'continue' }) }, transform('end', '1')];
    const { ended, id } = await outcome(loop, 'x'.repeat(5_000));
    expect(ended).toMatchObject({ status: 'completed', output: 1 });
    const em = app.services.orm.em.fork();
    const window = { offset: 0, limit: null };
    expect(await sizeOfStepRows(em, app.services, [id], window)).toBeGreaterThan(10_000);
    executionLimits.context = 10_000;
    const full = (await outcome(loop, 'x'.repeat(5_000))).ended;
    expect(full).toMatchObject({ status: 'failed', error: { code: 'context_too_large' } });
  });

  it('makes way for others the less often the more of it has to be read again', async () => {
    const { ended } = await outcome([each('input', [transform('a', '1')])], items(4_000));
    expect(ended.status).toBe('completed');
    // After 500, 1,000, 2,000 and 4,000 steps.
    expect(ended.attempt).toBeLessThanOrEqual(5);
  });

  it('makes way for others and goes on, more than once', async () => {
    const { ended, workflow, id } = await outcome([each('input', [transform('a', 'index')])], items(1_300));
    expect(ended).toMatchObject({ status: 'completed', attempt: 3 });
    const done = (await app.services.orm.em
      .fork()
      .execute(`select count(*)::integer as count from event where topic = ? and data->>'type' = 'step.completed'`, [
        `execution:${id}`,
      ])) as { count: number }[];
    expect(done).toEqual([{ count: 1_301 }]);
    expect((await app.look(workflow, id)).output).toHaveLength(1_300);
  });
});

describe('inputs', () => {
  const branches = (count: number, step: (name: string) => object) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`b${index}`, [step(`s${index}`)]]));
  /** Loops side by side, each of which keeps its items and waits. */
  const loops = (count: number, more: object = {}) => ({
    id: 'all',
    type: 'parallel',
    on_branch_error: 'wait',
    branches: branches(count, (id) => ({
      id,
      type: 'for_each',
      items: 'input',
      do: [{ id: `${id}_wait`, type: 'delay', for: '1h' }],
      ...more,
    })),
  });
  const inputOf = (run: { path: string; input: { items?: unknown[] } | null; error: { code: string } | null }) =>
    run.input?.items?.length ?? run.error?.code;

  it('of steps count together with outputs: one for which no room is left fails', async () => {
    executionLimits.context = 10_000;
    const { ended } = await outcome([loops(5, { on_error: 'continue' })], ['x'.repeat(4_000)]);
    const held = ended.steps.filter(({ type }: { type: string }) => type === 'for_each').map(inputOf);
    expect(held).toEqual([1, 1, 'input_too_large', 'input_too_large', 'input_too_large']);
    expect(ended.status).toBe('running');
  });

  it.each([
    ['http', { type: 'http', method: 'POST', url: '${{ peer }}', body: '${{ input }}' }],
    ['operation', { type: 'operation', operation: 'studio.createBranch', with: { name: '${{ input }}' } }],
  ])('of an %s step fails it before it acts', async (_type, step) => {
    const peer = await startPeer();
    try {
      executionLimits.context = 1_000;
      const acting = { id: 'act', ...JSON.parse(JSON.stringify(step).replace('${{ peer }}', peer.url)) };
      const more = { permissions: ['browse_studio', 'edit_studio'] };
      const { ended } = await outcome([acting], 'x'.repeat(1_000), more);
      expect(ended).toMatchObject({ status: 'failed', error: { code: 'input_too_large', path: 'act' } });
      expect(ended.steps).toMatchObject([{ input: null, tries: 1 }]);
      expect(peer.calls).toEqual([]);
    } finally {
      await peer.close();
    }
  });
});

describe('an expression without an end', () => {
  it('is stopped, and its step has failed', async () => {
    const { ended } = await outcome([transform('a', '($f := function($x) { $f($x) }; $f(1))', { timeout: '250ms' })]);
    expect(ended).toMatchObject({ status: 'failed', error: { path: 'a' } });
    expect(['timeout', 'bad_expression']).toContain(ended.error.code);
  });

  it('as a condition of the whole, too', async () => {
    const { ended } = await outcome([transform('a', '1')], null, {
      when: '($f := function($x) { 1 + $f($x) }; $f(1))',
    });
    expect(ended).toMatchObject({ status: 'failed', error: { path: null }, steps: [] });
  });
});

describe('an output that is too large', () => {
  // Each step sees all those before it, so that outputs double.
  const doubling = (count: number) => [
    transform('s0', '[input, input]'),
    ...Array.from({ length: count }, (_, index) => transform(`s${index + 1}`, 'steps')),
  ];
  const text = 'x'.repeat(480 * 1024);

  it('of a step fails it, and the next one may go on', async () => {
    // 15 MiB are kept, 30 are not.
    expect((await outcome(doubling(5), text)).ended.status).toBe('completed');
    const steps = doubling(6);
    Object.assign(steps[6] as object, { on_error: 'continue' });
    const { ended } = await outcome([...steps, transform('seen', 'steps.s6.error.code')], text);
    expect(ended).toMatchObject({ status: 'completed', output: 'output_too_large' });
    expect(ended.steps[6]).toMatchObject({ path: 's6', status: 'failed', output: null });
  });

  it('has more than a million values', async () => {
    const { blobs } = app.services;
    const values = (count: number) => Array.from({ length: count / 1_000 }, () => Array<number>(999).fill(0));
    expect((await storeValue(blobs, values(1_000_000))).sha256).not.toBeNull();
    await expect(storeValue(blobs, [...values(1_000_000), 0])).rejects.toMatchObject({ code: 'too_large' });
  });

  it('of the whole fails it', async () => {
    const both = '${{ steps.s5.output }}';
    const { ended } = await outcome(doubling(5), text, { output: { one: both, other: both } });
    expect(ended).toMatchObject({ status: 'failed', output: null, error: { code: 'output_too_large', path: null } });
  });
});

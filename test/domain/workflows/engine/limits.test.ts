import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Checkpoint,
  CheckpointWriter,
  statementLimits,
  storeValue,
} from '../../../../src/domain/workflows/engine/checkpoints.ts';
import { ProgressLog } from '../../../../src/domain/workflows/engine/driver.ts';
import { executionLimits, Journal, RunState } from '../../../../src/domain/workflows/engine/journal.ts';
import { failure } from '../../../../src/domain/workflows/engine/lifecycle.ts';
import { PlanScope } from '../../../../src/domain/workflows/engine/plan.ts';
import { Planner } from '../../../../src/domain/workflows/engine/planner.ts';
import { retryDelay } from '../../../../src/domain/workflows/engine/step-runner.ts';
import type { StepRunError } from '../../../../src/domain/workflows/executions/step-run.entity.ts';
import { InputTooLarge, type Step } from '../../../../src/domain/workflows/steps/step-type.ts';
import type { BlobStore } from '../../../../src/ports/blobs.ts';

const time = { now: 0 };
const clock = { recent: () => new Date(time.now) };
const call = (id: string, more: object = {}): Step =>
  ({ id, type: 'http', url: 'https://example.com/', ...more }) as Step;
const site = (path: string) => ({ step: call('a'), path, scope: new PlanScope() });

describe('how much there may be of an execution, on both sides', () => {
  it('50,000 step runs', () => {
    const journal = new Journal(clock, 1);
    for (let run = 0; run < 50_000; run += 1) journal.open(site(`a${run}`));
    expect(journal.excess).toBeNull();
    journal.open(site('more'));
    expect(journal.excess?.code).toBe('too_many_steps');
  });

  it('200,000 events, those of earlier drivers among them', () => {
    const journal = new Journal(clock, 199_999);
    journal.log('log');
    expect(journal.excess).toBeNull();
    journal.log('log');
    expect(journal.excess?.code).toBe('too_many_events');
  });

  it('64 MiB of outputs', () => {
    const journal = new Journal(clock, 1);
    journal.context = 64 * 1024 * 1024;
    expect(journal.excess).toBeNull();
    journal.context += 1;
    expect(journal.excess?.code).toBe('context_too_large');
  });
});

describe('errors of step runs', () => {
  const failing = (error: StepRunError) => {
    const journal = new Journal(clock, 1);
    const run = journal.open(site('a'));
    journal.move(run, { status: 'failed', error });
    return { journal, run };
  };

  it('count together with outputs, also of earlier drivers, and no longer when they are gone', () => {
    const error = { code: 'http_status', message: 'é', body: { a: 1 } };
    const { journal, run } = failing(error);
    const size = Buffer.byteLength(JSON.stringify(error));
    expect(journal.context).toBe(size);
    const next = new Journal(clock, 1);
    next.load([{ ...run, output: 'x' }]);
    expect(next.context).toBe(size + 3);
    journal.move(run, { status: 'completed', error: null });
    expect(journal.context).toBe(0);
  });

  it('keep 10,000 characters of their message and 64 KiB of each detail', () => {
    const errors = [{ field: '/a', message: 'x'.repeat(70_000) }];
    const { run, journal } = failing({ code: 'invalid_request', message: 'm'.repeat(20_000), status: 400, errors });
    const kept = 'm'.repeat(10_000);
    expect(run.error).toEqual({
      code: 'invalid_request',
      message: kept,
      status: 400,
      errors: JSON.stringify(errors).slice(0, 65_536),
    });
    const lease = { id: '', project_id: 1, workflow_id: '', attempt: 1 };
    const { events } = journal.take(lease, new RunState({ status: 'running', state: {}, started_at: null }));
    expect(events).toMatchObject([{ error: { message: kept } }]);
    expect(failure('bad_expression', 'm'.repeat(20_000)).error.message).toBe(kept);
  });
});

describe('inputs of step runs', () => {
  const usual = executionLimits.context;
  beforeEach(() => {
    executionLimits.context = 100;
  });
  afterEach(() => {
    executionLimits.context = usual;
  });
  /** An input whose JSON has so many bytes. */
  const ofBytes = (bytes: number) => ({ a: 'x'.repeat(bytes - 8) });

  it('count together with outputs and errors, also of earlier drivers', () => {
    const journal = new Journal(clock, 1);
    const run = journal.open(site('a'));
    journal.admit(run, ofBytes(60));
    journal.move(run, { status: 'waiting', input: ofBytes(60) });
    expect(journal.context).toBe(60);
    const next = new Journal(clock, 1);
    next.load([{ ...run, output: 'x' }]);
    expect(next.context).toBe(63);
  });

  it('are refused where there is no room for them, and then take none', () => {
    const journal = new Journal(clock, 1);
    journal.context = 40;
    const [a, b] = [journal.open(site('a')), journal.open(site('b'))];
    expect(() => journal.admit(a, ofBytes(61))).toThrow(InputTooLarge);
    journal.admit(a, ofBytes(60));
    expect(() => journal.admit(b, { a: '' })).toThrow(/give the step only what it needs/);
    expect([journal.context, journal.excess]).toEqual([100, null]);
  });

  it('take the room of the try before', () => {
    const journal = new Journal(clock, 1);
    const run = journal.open(site('a'));
    journal.admit(run, ofBytes(90));
    journal.admit(run, ofBytes(100));
    journal.keepInput(run, ofBytes(20));
    expect(journal.context).toBe(20);
  });
});

describe('an output', () => {
  const put: Buffer[] = [];
  const blobs = {
    put: async (content: Buffer) => {
      put.push(content);
      return { sha256: 'hash' };
    },
  } as unknown as BlobStore;
  /** Text whose JSON has so many bytes; two quotes are among them. */
  const ofBytes = (bytes: number) => 'x'.repeat(bytes - 2);
  const mebibyte = 1024 * 1024;

  it('lies in the row up to 1 MiB, and in a blob above', async () => {
    expect(await storeValue(blobs, ofBytes(mebibyte))).toMatchObject({ sha256: null, size: mebibyte });
    expect(put).toEqual([]);
    expect(await storeValue(blobs, ofBytes(mebibyte + 1))).toEqual({ text: null, sha256: 'hash', size: mebibyte + 1 });
    expect(put[0]).toHaveLength(mebibyte + 1);
    // Bytes count, not characters.
    expect(await storeValue(blobs, 'é'.repeat(mebibyte / 2))).toMatchObject({ text: null, size: mebibyte + 2 });
  });

  it('has at most 25 MiB', async () => {
    expect(await storeValue(blobs, ofBytes(25 * mebibyte))).toMatchObject({ sha256: 'hash' });
    await expect(storeValue(blobs, ofBytes(25 * mebibyte + 1))).rejects.toMatchObject({ code: 'too_large' });
  });
});

describe('what is written together', () => {
  const usual = statementLimits.json;
  afterEach(() => {
    statementLimits.json = usual;
  });
  const nothing = async () => {};

  /** Writes checkpoints at once. @returns what each statement writes */
  async function statementsOf(checkpoints: readonly Checkpoint[]) {
    const statements: { rows: { path?: string; id?: string; output: string | null }[] }[] = [];
    const query = async ({ parameters: [text] }: { parameters: [string] }) => {
      const rows = JSON.parse(text);
      statements.push({ rows });
      return { rows: rows.map(({ id }: { id: string }) => ({ id, wake: false, slot_key: null, cancel: null })) };
    };
    const em = { getTransactionContext: () => ({ executeQuery: query }) };
    const orm = { em: { fork: () => ({ transactional: (work: (within: object) => unknown) => work(em) }) } };
    const metrics = { stepSettled() {}, executionEnded() {} };
    const events = { append: nothing };
    const jobs = { sendMany: nothing };
    const writer = new CheckpointWriter({ orm, sharedClock: clock, metrics, events, jobs } as never);
    await Promise.all(checkpoints.map((checkpoint) => writer.write(checkpoint)));
    return statements.map(({ rows }) => rows.map(({ path, id }) => path ?? id));
  }

  /** A checkpoint of step runs whose inputs have so many characters of JSON. */
  function checkpointOf(id: string, inputs: readonly number[], output: string | null = null): Checkpoint {
    const journal = new Journal(clock, 1);
    for (const [index, length] of inputs.entries())
      journal.move(journal.open(site(`${id}${index}`)), { status: 'waiting', input: 'x'.repeat(length - 2) });
    const lease = { id, project_id: 1, workflow_id: '', attempt: 1 };
    return { ...journal.take(lease, new RunState({ status: 'running', state: {}, started_at: null })), output };
  }

  it('is in one statement up to its limit, step runs of several executions included', async () => {
    statementLimits.json = 1_000;
    expect(await statementsOf([checkpointOf('a', [300, 300]), checkpointOf('b', [400, 3, 997, 2_000, 10])])).toEqual([
      ['a', 'b'],
      ['a0', 'a1', 'b0'],
      ['b1', 'b2'],
      ['b3'],
      ['b4'],
    ]);
  });

  it('are executions whose outputs fit a statement', async () => {
    statementLimits.json = 1_000;
    const sizes = [600, 400, 1, 5_000, 1];
    const checkpoints = sizes.map((length, index) => checkpointOf(`e${index}`, [], 'x'.repeat(length)));
    expect(await statementsOf(checkpoints)).toEqual([['e0', 'e1'], ['e2'], ['e3'], ['e4']]);
  });
});

describe('the wait before another try', () => {
  const failure = { error: { code: 'http_status', message: 'no' }, isRetryable: true };
  const waits = (step: Step, random: number, count: number) =>
    Array.from({ length: count }, (_, index) => retryDelay(step, index + 1, failure, random));

  it('doubles from a second, a random share of it, and ends with the third try', () => {
    expect(waits(call('a'), 1, 3)).toEqual([1_000, 2_000, null]);
    expect(waits(call('a'), 0.25, 2)).toEqual([250, 500]);
    expect(waits(call('a'), 0, 2)).toEqual([0, 0]);
  });

  it('grows to five minutes at most, or as the step says', () => {
    const retry = { attempts: 20 };
    expect(waits(call('a', { retry }), 1, 20).slice(8)).toEqual([256_000, ...Array(10).fill(300_000), null]);
    const own = { attempts: 5, delay: '2s', factor: 3, max_delay: '20s' };
    expect(waits(call('a', { retry: own }), 1, 5)).toEqual([2_000, 6_000, 18_000, 20_000, null]);
  });

  it('is for steps that can be repeated; others need it written down', () => {
    const tries = (step: Step) => waits(step, 0, 4).filter((wait) => wait !== null).length + 1;
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE'])
      expect([method, tries(call('a', { method }))]).toEqual([method, 3]);
    for (const method of ['POST', 'PATCH']) expect([method, tries(call('a', { method }))]).toEqual([method, 1]);
    expect(tries(call('a', { method: 'POST', retry: { attempts: 2 } }))).toBe(2);
    expect(tries({ id: 'a', type: 'operation', operation: 'studio.createBranch' } as Step)).toBe(3);
  });

  it('is for faults that may pass, and for those the step names', () => {
    expect(retryDelay(call('a'), 1, { ...failure, isRetryable: false }, 1)).toBeNull();
    const named = call('a', { retry: { attempts: 2, on: ['timeout'] } });
    expect(retryDelay(named, 1, failure, 1)).toBeNull();
    expect(retryDelay(named, 1, { ...failure, error: { code: 'timeout', message: 'late' } }, 1)).toBe(1_000);
  });

  it('is what the peer asks for at least, up to an hour', () => {
    const delayAfter = (retryAfter: number) => retryDelay(call('a'), 1, { ...failure, retryAfter }, 1);
    expect([delayAfter(500), delayAfter(90_000), delayAfter(3_600_000), delayAfter(3_600_001)]).toEqual([
      1_000, 90_000, 3_600_000, 3_600_000,
    ]);
  });
});

it('the time of an execution does not count what it is paused', () => {
  const runState = new RunState({ status: 'running', state: {}, started_at: new Date(1_000) });
  expect(runState.deadline('1h', 0)).toBe(3_601_000);
  expect(runState.deadline(undefined, 0)).toBe(1_000 + 24 * 3_600_000);
  expect([runState.pause(10_000), runState.pause(11_000)]).toEqual([true, false]);
  runState.resume(15_000);
  expect([runState.status, runState.deadline('1h', 0)]).toEqual(['running', 3_606_000]);
});

it('loops report their progress, once a second at most, and nothing when they are over', () => {
  time.now = 0;
  const journal = new Journal(clock, 1);
  const loop = { id: 'each', type: 'for_each', items: 'x', do: [call('a')] } as Step;
  const planner = new Planner({ steps: [loop] }, journal.runs);
  const runState = new RunState({ status: 'running', state: {}, started_at: null });
  const log = new ProgressLog({ journal, planner });
  const run = journal.open({ step: loop, path: 'each', scope: new PlanScope() });
  journal.move(run, { status: 'running', input: { items: [1, 2, 3, 4] } });
  const reported: unknown[] = [];
  for (let done = 0; done < 4; done += 1) {
    planner.plan(time.now);
    log.logProgress();
    const before = time.now;
    time.now += done < 2 ? 600 : 2_000;
    journal.move(journal.open(site(`each[${done}].a`)), { status: 'completed' });
    const lease = { id: '', project_id: 1, workflow_id: '', attempt: 1 };
    for (const event of journal.take(lease, runState).events)
      if (event.type === 'step.progress') reported.push([before, event.done, event.total]);
  }
  planner.plan(time.now);
  log.logProgress();
  expect(reported).toEqual([
    [1_200, 2, 4],
    [3_200, 3, 4],
  ]);
  expect(journal.isDirty).toBe(false);
});

import { expect, it } from 'vitest';
import { beginStep } from '../../../../src/domain/workflows/engine/step-runner.ts';
import type { Step } from '../../../../src/domain/workflows/steps/step-type.ts';
import { ExpressionError, type ExpressionFault, type Expressions } from '../../../../src/ports/expressions.ts';

const step = { id: 'a', type: 'transform', expression: '1 + 1' } as Step;
const begin = (fault: ExpressionFault) => {
  const evaluate = async () => Promise.reject(new ExpressionError(fault, 'told'));
  const expressions = { evaluate } as unknown as Expressions;
  return beginStep({ expressions }, step, { scope: {}, signal: new AbortController().signal, now: 0 });
};

it('what is wrong with an expression fails its step', async () => {
  expect(await begin('failed')).toMatchObject({ status: 'failed', error: { code: 'bad_expression', message: 'told' } });
  expect(await begin('timeout')).toMatchObject({ status: 'failed', error: { code: 'timeout', message: 'told' } });
});

it('a server that cannot evaluate anything fails none', async () => {
  await expect(begin('unavailable')).rejects.toThrow('told');
});

it.each(['fail', 'wait_for_input'])('a message of %s is no longer than one may be written', async (type) => {
  const naming = { id: 'a', type, message: '${{ input }} ${{ input }}' } as Step;
  const scope = { input: 'a'.repeat(9_999) };
  const options = { scope, signal: new AbortController().signal, now: 0 };
  const begun = await beginStep({ expressions: {} as Expressions }, naming, options);
  const { message } = (begun.error ?? begun.input) as { message: string };
  expect(message).toBe(`${scope.input} `);
});

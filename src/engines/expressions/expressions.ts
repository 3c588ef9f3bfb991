import { callSlots } from '../../domain/workflows/engine/admission.ts';
import { ChildError, type ChildFault, ChildPool } from '../../lib/child-processes.ts';
import { hasMoreValues, isLonger } from '../../lib/objects.ts';
import { type Caller, ExpressionError, type ExpressionFault, type Expressions } from '../../ports/expressions.ts';
import type { ExpressionAnswer, ExpressionTask } from './evaluator.ts';

const second = 1_000;
/** What an evaluation gets beyond its own limit before its process is ended. */
const grace = 250;
/** Of a process, in MiB. */
const heap = 64;
/**
 * A context: MiB of its JSON, as the largest body of a webhook and what is beside it, and its values, as five such bodies. A process could not hold
 * twice as much, and sending it would hold the event loop.
 */
const most = { mebibytes: 32, values: 1_000_000 };

const faults: Record<ChildFault, ExpressionFault> = {
  deadline: 'timeout',
  died: 'too_much_memory',
  not_started: 'unavailable',
  not_sent: 'failed',
  closed: 'unavailable',
};

/** Why a context is too large; null: it is not. */
function excessOf(context: object): string | null {
  if (isLonger(context, most.mebibytes * 1024 * 1024)) return `what it reads is larger than ${most.mebibytes} MiB`;
  return hasMoreValues(context, most.values) ? `what it reads has more than ${most.values} values` : null;
}

/** The evaluator beside this module, as it is run: TypeScript from the sources, JavaScript from a build. */
const evaluator = new URL(`./evaluator${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/**
 * JSONata and JSON Schema in processes of their own, under the caps of the port. A process is started when the others are busy; one workflow has at most
 * two of the four, and one organization three.
 */
export function createExpressions({ processes = 4 }: { processes?: number } = {}): Expressions {
  const pool = new ChildPool<ExpressionTask, ExpressionAnswer>({ module: evaluator, size: processes, heap });

  const slots = callSlots(processes);

  async function ask(
    caller: Caller | null,
    task: ExpressionTask,
    deadline: number,
    signal?: AbortSignal,
  ): Promise<ExpressionAnswer> {
    // What a task holds is looked at when its turn comes: loops begin twenty at once.
    const evaluate = async () => {
      const problem = task.kind === 'evaluate' ? excessOf(task.context) : null;
      if (problem !== null) throw new ExpressionError('too_much_memory', problem);
      return pool.run(task, { deadline, signal });
    };
    try {
      const answer = await (caller === null ? evaluate() : slots.run(caller, evaluate));
      if ('fault' in answer) throw new ExpressionError(answer.fault, answer.message);
      return answer;
    } catch (error) {
      if (!(error instanceof ChildError)) throw error;
      throw new ExpressionError(faults[error.fault], error.message);
    }
  }

  const expressionsOf = (caller: Caller | null): Expressions => ({
    of: expressionsOf,
    async evaluate(expression, context, { timeout = second, signal } = {}) {
      const answer = await ask(caller, { kind: 'evaluate', expression, context, timeout }, timeout + grace, signal);
      return 'json' in answer && answer.json !== undefined ? (JSON.parse(answer.json) as unknown) : undefined;
    },
    async validate(schema, value) {
      const answer = await ask(caller, { kind: 'validate', schema, value }, second + grace);
      return 'faults' in answer ? answer.faults : [];
    },
    close: () => pool.close(),
  });
  return expressionsOf(null);
}

import type { MikroORM } from '@mikro-orm/postgresql';
import { type ExecutionCounts, executionCounts } from './domain/workflows/executions/execution-counts.ts';
import type { PrometheusMetrics } from './engines/metrics/prometheus.ts';

/** Has the metrics say what there is to do for the engine: the same in every process, read when they are asked for. */
export function addExecutionGauges(metrics: PrometheusMetrics, orm: MikroORM): void {
  let asked: Promise<ExecutionCounts> | null = null;
  // All of them are asked at once, and share one look.
  const count = () => {
    asked ??= executionCounts(orm.em.fork()).finally(() => {
      asked = null;
    });
    return asked;
  };
  metrics.gauge('portico_workflow_open_executions', 'Executions that have not ended, by status', 'status', async () =>
    Object.entries((await count()).open),
  );
  metrics.gauge('portico_workflow_pending_seconds', 'How long the oldest pending execution waits', null, async () => [
    ['', (await count()).pendingSeconds],
  ]);
  metrics.gauge('portico_workflow_dead_letters', 'Failed executions that are not acknowledged', null, async () => [
    ['', (await count()).deadLetters],
  ]);
}

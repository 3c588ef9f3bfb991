import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Metrics } from '../../domain/ports/metrics.ts';

/** Metrics of one process in the Prometheus text format. */
export interface PrometheusMetrics extends Metrics {
  http(method: string, route: string, status: number, seconds: number): void;
  render(): Promise<{ type: string; text: string }>;
  stop(): void;
}

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Makes the registry of this process. Labels hold templates and names, never ids. */
export function createMetrics(): PrometheusMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'portico_' });
  const requests = new Histogram({
    name: 'portico_http_request_seconds',
    help: 'HTTP requests by route template',
    labelNames: ['method', 'route', 'status'],
    buckets,
    registers: [registry],
  });
  const operations = new Histogram({
    name: 'portico_operation_seconds',
    help: 'Operations by name and outcome',
    labelNames: ['operation', 'outcome'],
    buckets,
    registers: [registry],
  });
  const gitProcesses = new Histogram({
    name: 'portico_git_process_seconds',
    help: 'Lives of git processes by command; cat-file and update-ref stay for many questions',
    labelNames: ['command'],
    buckets: [...buckets, 60, 600],
    registers: [registry],
  });
  const gitWriters = new Gauge({
    name: 'portico_git_writers',
    help: 'Writers that wait for their commit, over all branches',
    registers: [registry],
  });
  const refused = new Counter({
    name: 'portico_authentication_failures_total',
    help: 'Requests with a missing or invalid credential',
    registers: [registry],
  });
  return {
    http: (method, route, status, seconds) => {
      requests.observe({ method, route, status }, seconds);
      if (status === 401) refused.inc();
    },
    operation: (operation, outcome, seconds) => operations.observe({ operation, outcome }, seconds),
    gitProcess: (command, seconds) => gitProcesses.observe({ command }, seconds),
    gitWriters: (change) => gitWriters.inc(change),
    render: async () => ({ type: registry.contentType, text: await registry.metrics() }),
    stop: () => registry.clear(),
  };
}

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Metrics } from '../../ports/metrics.ts';

/** Metrics of one process in the Prometheus text format. */
export interface PrometheusMetrics extends Metrics {
  http(method: string, route: string, status: number, seconds: number): void;
  /**
   * Adds a gauge that is read at each scrape; `read` gives its values by those of `label`, or a single one. While it cannot be
   * read, it has no sample.
   */
  gauge(name: string, help: string, label: string | null, read: () => Promise<readonly [string, number][]>): void;
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
  const fires = new Histogram({
    name: 'portico_schedule_fire_lag_seconds',
    help: 'How long after their times schedules were fired, by source and outcome',
    labelNames: ['source', 'outcome'],
    buckets: [0.5, 1, 2, 5, 10, 60, 600, 3600],
    registers: [registry],
  });
  const deliveries = new Counter({
    name: 'portico_notification_deliveries_total',
    help: 'Tries to deliver notifications by outcome',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const crawlBatches = new Histogram({
    name: 'portico_crawl_turn_seconds',
    help: 'Transactions of crawls: results written and next URLs leased',
    buckets,
    registers: [registry],
  });
  const crawlUrls = new Counter({
    name: 'portico_crawl_urls_total',
    help: 'URLs of crawls by what became of a lease',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const crawlCaptured = new Counter({
    name: 'portico_crawl_captured_total',
    help: 'Responses of crawls that were captured',
    registers: [registry],
  });
  const crawlBytes = new Counter({
    name: 'portico_crawl_bytes_total',
    help: 'Bytes of bodies crawls got over the wire',
    registers: [registry],
  });
  const crawlSlowed = new Counter({
    name: 'portico_crawl_hosts_slowed_total',
    help: 'Times a host of a crawl was paused or slowed',
    registers: [registry],
  });
  const crawlRuns = new Gauge({
    name: 'portico_crawl_runs',
    help: 'Runs of crawlers this process works on',
    registers: [registry],
  });
  const browserRestarts = new Counter({
    name: 'portico_crawl_browser_restarts_total',
    help: 'Times Chromium was replaced by a new one, because it was worn or had ended',
    registers: [registry],
  });
  const crawlTakeovers = new Counter({
    name: 'portico_crawl_takeovers_total',
    help: 'Runs of crawlers that were taken over from a lost worker',
    registers: [registry],
  });
  const executions = new Counter({
    name: 'portico_workflow_executions_total',
    help: 'Executions this process brought to their end, by status',
    labelNames: ['status'],
    registers: [registry],
  });
  const steps = new Counter({
    name: 'portico_workflow_steps_total',
    help: 'Step runs this process brought to their end, by type and status',
    labelNames: ['type', 'status'],
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
    fire: (source, outcome, seconds) => fires.observe({ source, outcome }, seconds),
    delivery: (outcome) => deliveries.inc({ outcome }),
    crawlBatch: ({ seconds, outcomes, captured, bytes, slowed }) => {
      crawlBatches.observe(seconds);
      for (const [outcome, count] of Object.entries(outcomes)) crawlUrls.inc({ outcome }, count);
      crawlCaptured.inc(captured);
      crawlBytes.inc(bytes);
      crawlSlowed.inc(slowed);
    },
    crawlRuns: (change) => crawlRuns.inc(change),
    crawlTakeover: () => crawlTakeovers.inc(),
    browserRestart: () => browserRestarts.inc(),
    executionEnded: (status) => executions.inc({ status }),
    stepSettled: (type, status) => steps.inc({ type, status }),
    gauge(name, help, label, read) {
      const gauge: Gauge = new Gauge({
        name,
        help,
        labelNames: label === null ? [] : [label],
        registers: [registry],
        async collect() {
          gauge.reset();
          const values = await read().catch(() => null);
          if (values === null && label === null) gauge.remove();
          for (const [value, count] of values ?? []) gauge.set(label === null ? {} : { [label]: value }, count);
        },
      });
    },
    render: async () => ({ type: registry.contentType, text: await registry.metrics() }),
    stop: () => registry.clear(),
  };
}

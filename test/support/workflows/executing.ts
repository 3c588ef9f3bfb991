import { wakeAwaited, wakeDue } from '../../../src/domain/workflows/engine/sweeper.ts';
import { removeLostWorkers } from '../../../src/domain/workflows/engine/workers.ts';
import { workflowAdvanceJobFor } from '../../../src/jobs/job-handlers.ts';
import { outliveSetbacks } from '../../../src/jobs/upkeep.ts';
import { startTestApp, type TestApp } from '../app.ts';

export const workflows = '/api/v2/organizations/acme/projects/site/workflows';

/** An application whose executions go on when the test says so: jobs are kept in a list and clocks are moved by hand. */
export interface ExecutingApp extends TestApp {
  /** Ids of executions whose jobs wait. */
  jobs: string[];
  /** Saves a workflow. @returns its id */
  save(definition: string | object): Promise<string>;
  /** Starts an execution by hand. @returns its id */
  begin(workflow: string, input?: unknown): Promise<string>;
  /** Lets executions go on until all of them rest. */
  settle(): Promise<void>;
  /** Moves the time on, and lets what is due go on. */
  pass(milliseconds: number): Promise<void>;
  /** An execution as REST shows it. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  look(workflow: string, id: string): Promise<any>;
  /** Types of the events of an execution, with their paths. */
  events(workflow: string, id: string): Promise<string[]>;
}

export async function startExecutingApp(environment: Record<string, string> = {}): Promise<ExecutingApp> {
  const app = await startTestApp(environment);
  const jobs: string[] = [];
  const take = (payload: unknown) => void jobs.push((payload as { execution_id: string }).execution_id);
  app.services.jobs = {
    send: async () => {},
    sendMany: async (_kind, payloads) => payloads.forEach(take),
  };
  app.clock.now = new Date('2026-03-01T08:00:00Z');
  const job = workflowAdvanceJobFor(app.services);
  const whole: ExecutingApp = Object.assign(app, {
    jobs,
    async save(definition: string | object) {
      const { body, status } = await app.ask('POST', workflows, { body: { name: 'Test', definition } });
      if (status !== 201) throw new Error(JSON.stringify(body));
      return body.id as string;
    },
    async begin(workflow: string, input?: unknown) {
      const body = { ...(input !== undefined && { input }) };
      const answer = await app.ask('POST', `${workflows}/${workflow}/executions`, { body });
      if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
      return answer.body.execution_id as string;
    },
    async settle() {
      while (jobs.length > 0) {
        await job.handleAll(jobs.splice(0).map((execution_id) => ({ execution_id })));
        await app.services.workflows.engine.idle();
      }
    },
    async pass(milliseconds: number) {
      app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + milliseconds);
      // As the upkeep of every minute, before anything else.
      await outliveSetbacks(app.services);
      await wakeDue(app.services);
      await wakeAwaited(app.services);
      await removeLostWorkers(app.services, app.services.workflows.engine.id);
      await whole.settle();
    },
    async look(workflow: string, id: string) {
      return (await app.ask('GET', `${workflows}/${workflow}/executions/${id}`)).body;
    },
    async events(workflow: string, id: string) {
      const { body } = await app.ask('GET', `${workflows}/${workflow}/executions/${id}/events`);
      return (body as { type: string; path: string | null }[]).map(({ type, path }) =>
        path ? `${type} ${path}` : type,
      );
    },
  });
  return whole;
}

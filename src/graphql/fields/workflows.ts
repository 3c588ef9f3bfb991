/** Workflows: their versions, secrets and triggers, the calls of webhooks, and what was executed. */
import { z } from 'zod';
import {
  getWebhookDeliveries,
  getWebhookDelivery,
  listWebhookDeliveries,
  redeliver,
} from '../../domain/workflows/deliveries/deliveries.operations.ts';
import {
  cancelExecution,
  resumeExecution,
  retryExecution,
  runWorkflow,
} from '../../domain/workflows/executions/change-executions.operations.ts';
import {
  acknowledgeDeadLetters,
  acknowledgeExecution,
  listDeadLetters,
  retriedDeadLetter,
  retryDeadLetters,
} from '../../domain/workflows/executions/dead-letters.operations.ts';
import {
  listExecutionLog,
  readExecutionEvents,
} from '../../domain/workflows/executions/execution-events.operations.ts';
import { executionParts } from '../../domain/workflows/executions/execution-record.ts';
import {
  getExecution,
  getExecutions,
  listExecutions,
  listStepRuns,
} from '../../domain/workflows/executions/executions.operations.ts';
import { executionEvent } from '../../domain/workflows/executions/executions.schema.ts';
import {
  deleteWorkflowSecret,
  listWorkflowSecrets,
  putWorkflowSecret,
} from '../../domain/workflows/secrets.operations.ts';
import {
  revealTriggerSecret,
  revokeTriggerSecret,
  rotateTriggerSecret,
} from '../../domain/workflows/triggers/trigger-secret.operations.ts';
import {
  createTrigger,
  deleteTrigger,
  getTrigger,
  listTriggers,
  updateTrigger,
} from '../../domain/workflows/triggers/triggers.operations.ts';
import { getVersion, listVersions, publishVersion } from '../../domain/workflows/versions.operations.ts';
import {
  createWorkflow,
  deleteWorkflow,
  disableWorkflow,
  enableWorkflow,
  getWorkflow,
  listWorkflows,
  updateWorkflow,
  validateWorkflow,
} from '../../domain/workflows/workflows.operations.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { EventSubject } from '../../ports/event-feed.ts';
import type { GraphqlContext } from '../context.ts';
import type { Place } from '../place.ts';
import type { Selects } from '../selected-fields.ts';
import type { Source } from '../stream/follow.ts';
import { batch, field, link, mutation, node, object, part, type Row, subscription } from '../table.ts';

interface AtExecution {
  organization: string;
  project: string;
  execution_id: string;
}

interface Started {
  workflow_id: string;
  trigger: { id: string | null };
  delivery_id: string | null;
}

const nothing = () => undefined;

const deliveries = ['WorkflowDelivery', 'WorkflowDeliverySummary'];
const executions = ['Execution', 'ExecutionSummary'];
/** What is selected of an execution that lists do not have of it. */
const include = (selects: Selects) => executionParts.filter((part) => selects(part));
/** Whether it is selected what a delivery brought. */
const contents = (selects: Selects) => selects('body', 'body_note', 'body_error', 'raw');
const begun = { workflow: nothing, execution: 'execution_id' };

/** One execution with what is selected of it alone. */
async function executionAt({ organization, project, execution }: Place, context: GraphqlContext, selects: Selects) {
  const wanted = { organization, project, executions: [execution], include: include(selects) };
  const [found] = await context.run(getExecutions, wanted);
  if (!found) throw new DomainError('not_found', 'Execution not found');
  return found;
}

/** The events of an execution, until it has ended. A position is the `seq` of an event. */
function executionEvents(at: AtExecution, context: GraphqlContext): Source<unknown> {
  const { organization, project, execution_id: execution } = at;
  let subject: EventSubject;
  return {
    async read(position) {
      const after = /^\d{1,15}$/.test(position ?? '') ? Number(position) : 0;
      const news = await context.run(readExecutionEvents, { organization, project, execution, after });
      subject = news.subject;
      return { events: news.events.map((data) => ({ position: String(data.seq), data })), ended: news.ended };
    },
    watch: (wake) => context.live.events.watch(subject, wake),
  };
}

export const workflows: readonly Row[] = [
  node('Workflow', getWorkflow, { workflow: 'id' }),
  field('Project', 'workflows', listWorkflows),
  field('Project', 'workflow', getWorkflow, { names: { workflow: 'id' } }),
  field('Project', 'validate_workflow', validateWorkflow),
  mutation('createWorkflow', createWorkflow),
  mutation('updateWorkflow', updateWorkflow),
  mutation('setWorkflowEnabled', enableWorkflow, {
    description: 'Enable the triggers of a workflow, or not',
    input: { enabled: z.boolean().describe('Whether its triggers start it') },
    choose: ({ enabled }) => (enabled === true ? enableWorkflow : disableWorkflow),
  }),
  mutation('deleteWorkflow', deleteWorkflow, { payload: 'workflow' }),

  node('WorkflowVersion', getVersion, { workflow: (_version, { workflow }) => workflow, number: 'number' }),
  field('Workflow', 'versions', listVersions),
  field('Workflow', 'version_number', getVersion),
  mutation('publishWorkflowVersion', publishVersion),
  link('WorkflowVersion', 'workflow', getWorkflow, {}, 'The workflow it is a version of'),
  field('Workflow', 'secrets', listWorkflowSecrets),
  mutation('putWorkflowSecret', putWorkflowSecret, { payload: 'secret' }),
  mutation('deleteWorkflowSecret', deleteWorkflowSecret, { payload: 'secret' }),

  node('WorkflowTrigger', getTrigger, { workflow: (_trigger, { workflow }) => workflow, trigger: 'id' }),
  field('Workflow', 'triggers', listTriggers),
  field('Workflow', 'trigger', getTrigger, { names: { trigger: 'id' } }),
  node('WorkflowDelivery', getWebhookDelivery, {
    workflow: (_delivery, { workflow }) => workflow,
    trigger: (_delivery, { trigger }) => trigger,
    delivery: 'id',
  }),
  object('WorkflowDeliverySummary', listWebhookDeliveries, {
    workflow: (_delivery, { workflow }) => workflow,
    trigger: (_delivery, { trigger }) => trigger,
    delivery: 'id',
  }),
  link(deliveries, 'workflow', getWorkflow, {}, 'The workflow it was for'),
  link(deliveries, 'trigger', getTrigger, {}, 'The webhook that accepted it'),
  batch(
    deliveries,
    'execution',
    getExecutions,
    { executions: ({ execution_id }: { execution_id: string | null }) => execution_id },
    { description: 'What it started', cost: 5, given: { include } },
  ),
  link('WorkflowTrigger', 'workflow', getWorkflow, {}, 'The workflow it starts'),
  field('WorkflowTrigger', 'deliveries', listWebhookDeliveries),
  field('WorkflowTrigger', 'delivery', getWebhookDelivery, { names: { delivery: 'id' } }),
  mutation('createTrigger', createTrigger),
  mutation('updateTrigger', updateTrigger),
  mutation('deleteTrigger', deleteTrigger, { payload: 'trigger' }),
  mutation('revealTriggerSecret', revealTriggerSecret),
  mutation('rotateTriggerSecret', rotateTriggerSecret),
  mutation('revokeTriggerSecret', revokeTriggerSecret),
  mutation('redeliver', redeliver),

  node('Execution', getExecution, { execution: 'id' }),
  object('ExecutionSummary', listExecutions, { execution: 'id' }),
  object('BegunExecution', runWorkflow, {}),
  object('RetriedDeadLetters', retryDeadLetters, {}),
  part('RetriedDeadLetter', retriedDeadLetter, {}),
  link(executions, 'workflow', getWorkflow, { workflow: 'workflow_id' }, 'What was executed'),
  batch(
    executions,
    'delivery',
    getWebhookDeliveries,
    { deliveries: ({ trigger, delivery_id }: Started) => (trigger.id === null ? null : delivery_id) },
    {
      description: 'The call of a webhook that started it; null when its trigger was deleted',
      cost: 5,
      given: { contents },
      at: ({ workflow_id, trigger }: Started) => ({ workflow: workflow_id, trigger: trigger.id }),
    },
  ),
  link('BegunExecution', 'execution', getExecution, begun, 'What was begun'),
  link('RetriedDeadLetter', 'retry', getExecution, begun, 'The new execution'),
  field('Workflow', 'executions', listExecutions),
  field('Project', 'execution', getExecution, {
    names: { execution: 'id' },
    given: { workflow: nothing },
    resolve: executionAt,
  }),
  field('Project', 'dead_letters', listDeadLetters),
  field('Execution', 'step_runs', listStepRuns, { given: { workflow: nothing } }),
  field('Execution', 'events', listExecutionLog, { given: { workflow: nothing } }),
  mutation('runWorkflow', runWorkflow),
  mutation('cancelExecution', cancelExecution),
  mutation('retryExecution', retryExecution),
  mutation('resumeExecution', resumeExecution),
  mutation('acknowledgeExecution', acknowledgeExecution),
  mutation('acknowledgeDeadLetters', acknowledgeDeadLetters),
  mutation('retryDeadLetters', retryDeadLetters),

  subscription('executionEvents', executionEvent, {
    description: readExecutionEvents.summary,
    args: { execution_id: z.string() },
    source: executionEvents,
  }),
];

import {
  getWebhookDelivery,
  listWebhookDeliveries,
  redeliver,
} from '../domain/workflows/deliveries/deliveries.operations.ts';
import {
  cancelExecution,
  resumeExecution,
  retryExecution,
  runWorkflow,
} from '../domain/workflows/executions/change-executions.operations.ts';
import {
  acknowledgeDeadLetters,
  acknowledgeExecution,
  listDeadLetters,
  retryDeadLetters,
} from '../domain/workflows/executions/dead-letters.operations.ts';
import { listExecutionEvents } from '../domain/workflows/executions/execution-events.operations.ts';
import { getExecution, listExecutions, listStepRuns } from '../domain/workflows/executions/executions.operations.ts';
import {
  deleteWorkflowSecret,
  listWorkflowSecrets,
  putWorkflowSecret,
} from '../domain/workflows/secrets.operations.ts';
import {
  revealTriggerSecret,
  revokeTriggerSecret,
  rotateTriggerSecret,
} from '../domain/workflows/triggers/trigger-secret.operations.ts';
import {
  createTrigger,
  deleteTrigger,
  getTrigger,
  listTriggers,
  updateTrigger,
} from '../domain/workflows/triggers/triggers.operations.ts';
import { getVersion, listVersions, publishVersion } from '../domain/workflows/versions.operations.ts';
import {
  createWorkflow,
  deleteWorkflow,
  disableWorkflow,
  enableWorkflow,
  getWorkflow,
  listWorkflows,
  updateWorkflow,
  validateWorkflow,
} from '../domain/workflows/workflows.operations.ts';
import { definitionText } from './raw-answers.ts';
import { del, get, patch, post, put, type Row } from './table.ts';

const workflows = '/api/v2/organizations/:organization/projects/:project/workflows';
const workflow = `${workflows}/:workflow`;
const execution = `${workflow}/executions/:execution`;
const trigger = `${workflow}/triggers/:trigger`;
const byId = ({ id }: { id: string }) => `/${id}`;

/** The URLs of workflows, without the webhook endpoint that outside services call. */
export const workflowRoutes: readonly Row[] = [
  get(workflows, listWorkflows, 200),
  post(workflows, createWorkflow, 201, { location: byId }),
  post(`${workflows}/validate`, validateWorkflow, 200),
  get(`${workflows}/dead-letters`, listDeadLetters, 200),
  post(`${workflows}/dead-letters/acknowledge`, acknowledgeDeadLetters, 200),
  post(`${workflows}/dead-letters/retry`, retryDeadLetters, 202),
  get(workflow, getWorkflow, 200),
  patch(workflow, updateWorkflow, 200),
  del(workflow, deleteWorkflow, 204),
  post(`${workflow}/enable`, enableWorkflow, 200),
  post(`${workflow}/disable`, disableWorkflow, 200),
  get(`${workflow}/versions`, listVersions, 200),
  get(`${workflow}/versions/:number`, getVersion, 200, { raw: definitionText, media: 'application/yaml' }),
  post(`${workflow}/versions/:number/publish`, publishVersion, 200),
  get(`${workflow}/triggers`, listTriggers, 200),
  post(`${workflow}/triggers`, createTrigger, 201, { location: byId }),
  get(trigger, getTrigger, 200),
  patch(trigger, updateTrigger, 200),
  del(trigger, deleteTrigger, 204),
  post(`${trigger}/reveal`, revealTriggerSecret, 200, { secret: true }),
  post(`${trigger}/rotate`, rotateTriggerSecret, 200, { secret: true }),
  post(`${trigger}/revoke`, revokeTriggerSecret, 200),
  get(`${trigger}/deliveries`, listWebhookDeliveries, 200),
  get(`${trigger}/deliveries/:delivery`, getWebhookDelivery, 200),
  post(`${trigger}/deliveries/:delivery/redeliver`, redeliver, 202),
  get(`${workflow}/executions`, listExecutions, 200),
  post(`${workflow}/executions`, runWorkflow, 202),
  get(execution, getExecution, 200),
  get(`${execution}/steps`, listStepRuns, 200),
  get(`${execution}/events`, listExecutionEvents, 200),
  post(`${execution}/cancel`, cancelExecution, 200),
  post(`${execution}/retry`, retryExecution, 202),
  post(`${execution}/resume`, resumeExecution, 200),
  post(`${execution}/acknowledge`, acknowledgeExecution, 200),
  get(`${workflow}/secrets`, listWorkflowSecrets, 200),
  put(`${workflow}/secrets/:name`, putWorkflowSecret, 204),
  del(`${workflow}/secrets/:name`, deleteWorkflowSecret, 204),
];

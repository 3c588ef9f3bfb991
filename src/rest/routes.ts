import { z } from 'zod';
import { listAudit } from '../domain/audit/audit.operations.ts';
import {
  createCrawler,
  deleteCrawler,
  getCrawler,
  listCrawlers,
  updateCrawler,
} from '../domain/crawlers/config/crawlers.operations.ts';
import { testUrl } from '../domain/crawlers/config/test-url.operations.ts';
import { cancelRun, runCrawler, stopRun } from '../domain/crawlers/runs/change-runs.operations.ts';
import { getRun, listRunLog, listRunPages, listRuns } from '../domain/crawlers/runs/runs.operations.ts';
import {
  createSchedule,
  deleteSchedule,
  getSchedule,
  listFires,
  listSchedules,
  previewSchedule,
  updateSchedule,
} from '../domain/crawlers/schedules/schedules.operations.ts';
import { listBrokenLinks } from '../domain/crawlers/snapshots/broken-links.operations.ts';
import { diffSnapshots } from '../domain/crawlers/snapshots/diff-snapshots.operations.ts';
import { exportWarcFile } from '../domain/crawlers/snapshots/export-warc.operations.ts';
import { getImport, importSnapshot } from '../domain/crawlers/snapshots/import/import-snapshot.operations.ts';
import {
  deleteSnapshot,
  getSnapshot,
  listSnapshotEntries,
  listSnapshots,
  publishSnapshot,
  updateSnapshot,
} from '../domain/crawlers/snapshots/snapshots.operations.ts';
import {
  checkVerification,
  getVerification,
  startVerification,
} from '../domain/crawlers/verification/verification.operations.ts';
import { createToken, listTokens, revokeToken } from '../domain/identity/tokens.operations.ts';
import {
  getDelivery,
  listDeliveries,
  resendDelivery,
  revealWebhookSecret,
  rotateWebhookSecret,
  testWebhook,
} from '../domain/notifications/deliveries.operations.ts';
import { inviteMember, listMembers, removeMember, updateMember } from '../domain/organizations/members.operations.ts';
import {
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizations,
  updateOrganization,
} from '../domain/organizations/organizations.operations.ts';
import {
  createProject,
  deleteProject,
  getProject,
  listProjects,
  restoreProject,
  updateProject,
} from '../domain/projects/projects.operations.ts';
import { annotateDeploymentPage, annotatePage } from '../domain/studio/annotations/annotate-page.operations.ts';
import { commitChanges } from '../domain/studio/changes/commit-changes.operations.ts';
import { revertCommit, revertEntry } from '../domain/studio/changes/revert.operations.ts';
import { checkPublish } from '../domain/studio/compare/check-publish.operations.ts';
import { compareBranches } from '../domain/studio/compare/compare.operations.ts';
import {
  getSchema,
  listCollections,
  listContentRoots,
  listSchemas,
  listSnippets,
  refreshSchemas,
} from '../domain/studio/content/schemas.operations.ts';
import {
  cancelDeployment,
  getDeployment,
  getLatestDeployment,
  listDeployments,
  rerunDeployment,
  startDeployment,
} from '../domain/studio/deployments/deployments.operations.ts';
import type { logPart } from '../domain/studio/deployments/get-log.operations.ts';
import { getDeploymentLog } from '../domain/studio/deployments/get-log.operations.ts';
import { reportDeployment } from '../domain/studio/deployments/report-deployment.operations.ts';
import { listDrafts, saveToDraft } from '../domain/studio/drafts/drafts.operations.ts';
import {
  createEntry,
  deleteEntry,
  updateEntry,
  validateEntry,
} from '../domain/studio/entries/change-entries.operations.ts';
import { getEntry, listEntries } from '../domain/studio/entries/entries.operations.ts';
import { entryTemplate } from '../domain/studio/entries/entry-template.operations.ts';
import {
  createEnvironment,
  deleteEnvironment,
  getEnvironment,
  listEnvironments,
  updateEnvironment,
} from '../domain/studio/environments/environments.operations.ts';
import { previewBranch } from '../domain/studio/environments/preview-branch.operations.ts';
import { listDeletedMedia } from '../domain/studio/media/deleted-media.operations.ts';
import { deleteMedia, listMedia } from '../domain/studio/media/media.operations.ts';
import { savedMedia } from '../domain/studio/media/media.schema.ts';
import { uploadMedia } from '../domain/studio/media/upload-media.operations.ts';
import { mergeBranches } from '../domain/studio/merge/merge-branches.operations.ts';
import { isActiveType, servedType } from '../domain/studio/mime.ts';
import {
  getDeploymentEditor,
  getDeploymentPreview,
  getEnvironmentPreview,
} from '../domain/studio/previews/preview-link.operations.ts';
import { mergePull } from '../domain/studio/pulls/merge-pull.operations.ts';
import { getPull, listPullFiles, listPulls } from '../domain/studio/pulls/pulls.operations.ts';
import { createPull, updatePull } from '../domain/studio/pulls/write-pull.operations.ts';
import { blameFile } from '../domain/studio/repository/blame.operations.ts';
import {
  createBranch,
  deleteBranch,
  getBranch,
  listBranches,
} from '../domain/studio/repository/branches.operations.ts';
import { listCommits } from '../domain/studio/repository/commits.operations.ts';
import { getFile, getFiletree } from '../domain/studio/repository/files.operations.ts';
import {
  cancelImport,
  getRepository,
  startImport,
  updateRepository,
} from '../domain/studio/repository/repository.operations.ts';
import type { file } from '../domain/studio/repository/repository.schema.ts';
import { detectRoutePatterns } from '../domain/studio/routes/route-patterns.operations.ts';
import { noticePush, removeRemote, setRemote, syncRepository } from '../domain/studio/upstream/upstream.operations.ts';
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
import type { workflowVersion } from '../domain/workflows/workflow.schema.ts';
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
import { encodePath } from '../lib/text.ts';
import { del, get, mebibyte, patch, post, put, type RawAnswer, type Row } from './table.ts';

/** A version as it was written, with its comments, for requests that accept YAML. */
function definitionText(
  { source }: z.output<typeof workflowVersion>,
  _input: Record<string, unknown>,
  _bytes: Buffer | undefined,
  accepts: (type: string) => boolean,
): RawAnswer | null {
  if (!accepts('application/yaml')) return null;
  return { type: 'application/yaml; charset=utf-8', content: Buffer.from(source), headers: { Vary: 'Accept' } };
}

/** A part of a log as plain text; headers say where to go on, and whether anything can still come. */
function logText(
  { next_offset, complete }: z.output<typeof logPart>,
  _input: Record<string, unknown>,
  bytes: Buffer | undefined,
): RawAnswer | null {
  if (bytes === undefined) return null;
  return {
    type: 'text/plain; charset=utf-8',
    content: bytes,
    headers: {
      'X-Content-Type-Options': 'nosniff',
      'X-Next-Offset': String(next_offset),
      'X-Log-Complete': String(complete),
    },
  };
}

/** `raw=true`: the file's own bytes. What a browser would run is a download, and nothing is sniffed. */
function rawFile(
  output: z.output<typeof file>,
  input: Record<string, unknown>,
  bytes: Buffer | undefined,
): RawAnswer | null {
  if (bytes === undefined) return null;
  const name = encodeURIComponent(output.name).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const type = servedType(output.mime);
  return {
    type: type.startsWith('text/') ? `${type}; charset=utf-8` : type,
    content: bytes,
    headers: {
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "sandbox; default-src 'none'",
      ...(isActiveType(output.mime) && { 'Content-Disposition': `attachment; filename*=UTF-8''${name}` }),
      ...(input.ref !== undefined && { 'Cache-Control': 'private, max-age=31536000, immutable' }),
    },
  };
}

const workflows = '/api/v2/organizations/:organization/projects/:project/workflows';
const workflow = `${workflows}/:workflow`;
const execution = `${workflow}/executions/:execution`;
const trigger = `${workflow}/triggers/:trigger`;
const byId = ({ id }: { id: number | string }) => `/${id}`;

/** The URLs of workflows, without the webhook endpoint that outside services call. */
const workflowRoutes: readonly Row[] = [
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

const organizations = '/api/v2/organizations';
const organization = `${organizations}/:organization`;
const projects = `${organization}/projects`;
const project = `${projects}/:project`;

const studio = `${project}/studio`;
const crawlers = `${project}/crawlers`;
const crawler = `${crawlers}/:crawler`;

const named = ({ machine_name }: { machine_name: string }) => `/${machine_name}`;
const oneOrAll = ({ files }: { files: unknown[] }) => (files.length === 1 ? files[0] : files);
const bySlug = ({ slug }: { slug: string }) => `/${encodePath(slug)}`;

/** Every URL of the REST interface, and the operation it runs. */
export const routes: readonly Row[] = [
  get(organizations, listOrganizations, 200),
  post(organizations, createOrganization, 201, { location: named }),
  get(organization, getOrganization, 200),
  patch(organization, updateOrganization, 200),
  del(organization, deleteOrganization, 204),
  get(projects, listProjects, 200),
  post(projects, createProject, 201, { location: named }),
  get(project, getProject, 200),
  patch(project, updateProject, 200),
  del(project, deleteProject, 204),
  post(`${projects}/:deleted_project/restore`, restoreProject, 200),
  get(`${organization}/tokens`, listTokens, 200),
  post(`${organization}/tokens`, createToken, 201),
  del(`${organization}/tokens/:token_id`, revokeToken, 200),
  get(`${organization}/members`, listMembers, 200),
  post(`${organization}/members`, inviteMember, 201, { location: byId, secret: true }),
  patch(`${organization}/members/:member`, updateMember, 200),
  del(`${organization}/members/:member`, removeMember, 204),
  get(`${organization}/audit`, listAudit, 200, { lines: true }),
  get(`${studio}/content-roots`, listContentRoots, 200),
  get(`${studio}/schema`, listSchemas, 200),
  post(`${studio}/schema/refresh`, refreshSchemas, 200),
  get(`${studio}/schema/:collection`, getSchema, 200),
  get(`${studio}/collections`, listCollections, 200),
  get(`${studio}/collections/:collection`, listEntries, 200),
  post(`${studio}/collections/:collection`, createEntry, 201, { location: bySlug }),
  get(`${studio}/snippets/:collection`, listSnippets, 200),
  get(`${studio}/entry-templates/:collection`, entryTemplate, 200),
  get(`${studio}/collections/:collection/*entry`, getEntry, 200),
  put(`${studio}/collections/:collection/*entry`, updateEntry, 200),
  del(`${studio}/collections/:collection/*entry`, deleteEntry, 200),
  post(`${studio}/changes`, commitChanges, 201, { also: { unchanged: 200 }, bodyLimit: 40 * mebibyte }),
  post(`${studio}/revert`, revertEntry, 201, { also: { unchanged: 200 } }),
  post(`${studio}/validate`, validateEntry, 200),
  get(`${studio}/media`, listMedia, 200),
  post(`${studio}/media`, uploadMedia, 201, {
    also: { unchanged: 200 },
    bodyLimit: 40 * mebibyte,
    multipart: true,
    present: { schema: z.union([savedMedia, z.array(savedMedia)]), from: oneOrAll },
  }),
  del(`${studio}/media/*media`, deleteMedia, 200),
  get(`${studio}/deleted-media`, listDeletedMedia, 200),
  get(`${studio}/drafts`, listDrafts, 200),
  post(`${studio}/drafts`, saveToDraft, 201, { also: { unchanged: 200 }, bodyLimit: 40 * mebibyte }),
  get(`${studio}/branches`, listBranches, 200),
  post(`${studio}/branches`, createBranch, 201, { location: ({ name }: { name: string }) => `/${encodePath(name)}` }),
  get(`${studio}/branches/*name`, getBranch, 200),
  del(`${studio}/branches/*name`, deleteBranch, 204),
  get(`${studio}/commits`, listCommits, 200),
  post(`${studio}/commits/:commit/revert`, revertCommit, 201, { also: { unchanged: 200 } }),
  post(`${studio}/merge`, mergeBranches, 201, { also: { up_to_date: 200, dry_run: 200 } }),
  get(`${studio}/compare`, compareBranches, 200),
  get(`${studio}/compare/checks`, checkPublish, 200),
  get(`${studio}/pulls`, listPulls, 200),
  post(`${studio}/pulls`, createPull, 201, { location: ({ number }: { number: number }) => `/${number}` }),
  get(`${studio}/pulls/:number`, getPull, 200),
  patch(`${studio}/pulls/:number`, updatePull, 200),
  post(`${studio}/pulls/:number/merge`, mergePull, 200),
  get(`${studio}/pulls/:number/files`, listPullFiles, 200),
  get(`${studio}/filetree`, getFiletree, 200),
  get(`${studio}/file`, getFile, 200, { raw: rawFile }),
  get(`${studio}/file/blame`, blameFile, 200),
  get(`${studio}/environments`, listEnvironments, 200),
  post(`${studio}/environments`, createEnvironment, 201, { location: byId }),
  get(`${studio}/environments/:environment`, getEnvironment, 200),
  patch(`${studio}/environments/:environment`, updateEnvironment, 200),
  del(`${studio}/environments/:environment`, deleteEnvironment, 204),
  get(`${studio}/environments/:environment/preview`, getEnvironmentPreview, 200, { secret: true }),
  get(`${studio}/environments/:environment/annotations`, annotatePage, 200),
  post(`${studio}/draft-previews`, previewBranch, 200),
  get(`${studio}/deployments`, listDeployments, 200),
  post(`${studio}/deployments`, startDeployment, 202),
  get(`${studio}/deployments/latest`, getLatestDeployment, 200),
  get(`${studio}/deployments/:deployment`, getDeployment, 200),
  patch(`${studio}/deployments/:deployment`, reportDeployment, 200),
  post(`${studio}/deployments/:deployment/cancel`, cancelDeployment, 202),
  post(`${studio}/deployments/:deployment/rerun`, rerunDeployment, 202),
  get(`${studio}/deployments/:deployment/preview`, getDeploymentPreview, 200, { secret: true }),
  get(`${studio}/deployments/:deployment/editor`, getDeploymentEditor, 200, { secret: true }),
  get(`${studio}/deployments/:deployment/annotations`, annotateDeploymentPage, 200),
  get(`${studio}/deployments/:deployment/jobs/:job/log`, getDeploymentLog, 200, { raw: logText, media: 'text/plain' }),
  post(`${studio}/route-patterns/detect`, detectRoutePatterns, 200),
  get(`${studio}/repository`, getRepository, 200),
  patch(`${studio}/repository`, updateRepository, 200),
  post(`${studio}/repository/import`, startImport, 202),
  post(`${studio}/repository/import/cancel`, cancelImport, 202),
  put(`${studio}/repository/remote`, setRemote, 200),
  del(`${studio}/repository/remote`, removeRemote, 204),
  post(`${studio}/repository/sync`, syncRepository, 200),
  post(`${studio}/repository/hook`, noticePush, 202, { signedBy: 'X-Hub-Signature-256' }),
  get(crawlers, listCrawlers, 200),
  post(crawlers, createCrawler, 200),
  get(crawler, getCrawler, 200),
  patch(crawler, updateCrawler, 200),
  del(crawler, deleteCrawler, 204),
  post(`${crawler}/verification`, startVerification, 200),
  get(`${crawler}/verification`, getVerification, 200),
  post(`${crawler}/verification/check`, checkVerification, 200),
  post(`${crawler}/test-url`, testUrl, 200),
  get(`${crawler}/schedules`, listSchedules, 200),
  post(`${crawler}/schedules`, createSchedule, 200),
  get(`${crawler}/schedules/preview`, previewSchedule, 200),
  get(`${crawler}/schedules/:crawler_schedule`, getSchedule, 200),
  patch(`${crawler}/schedules/:crawler_schedule`, updateSchedule, 200),
  del(`${crawler}/schedules/:crawler_schedule`, deleteSchedule, 204),
  get(`${crawler}/schedules/:crawler_schedule/fires`, listFires, 200),
  get(`${crawler}/webhook/deliveries`, listDeliveries, 200),
  get(`${crawler}/webhook/deliveries/:delivery`, getDelivery, 200),
  post(`${crawler}/webhook/deliveries/:delivery/resend`, resendDelivery, 202),
  post(`${crawler}/webhook/test`, testWebhook, 202),
  post(`${crawler}/webhook/secret/reveal`, revealWebhookSecret, 200),
  post(`${crawler}/webhook/secret/rotate`, rotateWebhookSecret, 200),
  post(`${crawler}/run`, runCrawler, 200),
  get(`${crawler}/runs`, listRuns, 200),
  get(`${crawler}/runs/:run_id`, getRun, 200),
  post(`${crawler}/runs/:run_id/stop`, stopRun, 200),
  post(`${crawler}/runs/:run_id/cancel`, cancelRun, 200),
  get(`${crawler}/runs/:run_id/pages`, listRunPages, 200),
  get(`${crawler}/runs/:run_id/log`, listRunLog, 200),
  get(`${crawler}/runs/:run_id/broken-links`, listBrokenLinks, 200),
  get(`${crawler}/snapshots`, listSnapshots, 200),
  get(`${crawler}/snapshots/:snapshot`, getSnapshot, 200),
  patch(`${crawler}/snapshots/:snapshot`, updateSnapshot, 200),
  del(`${crawler}/snapshots/:snapshot`, deleteSnapshot, 204),
  get(`${crawler}/snapshots/:snapshot/entries`, listSnapshotEntries, 200),
  get(`${crawler}/snapshots/:snapshot/diff`, diffSnapshots, 200),
  post(`${crawler}/snapshots/:snapshot/publish`, publishSnapshot, 200),
  post(`${crawler}/snapshots/:snapshot/import`, importSnapshot, 202),
  get(`${crawler}/imports/:import`, getImport, 200),
  get(`${crawler}/snapshots/:snapshot/warc`, exportWarcFile, 200, {
    media: 'application/warc',
    stream: ({ name }: { name: string }) => ({
      type: 'application/warc',
      headers: { 'Content-Disposition': `attachment; filename="${name}"` },
    }),
  }),
  ...workflowRoutes,
];

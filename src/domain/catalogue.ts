import type { AnyOperation } from '../kernel/operation.ts';
import * as conversations from './assistant/conversations.operations.ts';
import * as assistantModel from './assistant/model.operations.ts';
import * as suggestions from './assistant/suggestions.operations.ts';
import * as audit from './audit/audit.operations.ts';
import * as backupProject from './backups/backup-project.operations.ts';
import * as checkProject from './backups/check-project.operations.ts';
import * as restoreBackup from './backups/restore-backup.operations.ts';
import * as crawlers from './crawlers/config/crawlers.operations.ts';
import * as testUrl from './crawlers/config/test-url.operations.ts';
import * as changeRuns from './crawlers/runs/change-runs.operations.ts';
import * as runs from './crawlers/runs/runs.operations.ts';
import * as schedules from './crawlers/schedules/schedules.operations.ts';
import * as brokenLinks from './crawlers/snapshots/broken-links.operations.ts';
import * as diffSnapshots from './crawlers/snapshots/diff-snapshots.operations.ts';
import * as exportWarc from './crawlers/snapshots/export-warc.operations.ts';
import * as importSnapshot from './crawlers/snapshots/import/import-snapshot.operations.ts';
import * as writeImport from './crawlers/snapshots/import/write-import.operations.ts';
import * as snapshots from './crawlers/snapshots/snapshots.operations.ts';
import * as verification from './crawlers/verification/verification.operations.ts';
import * as me from './identity/me.operations.ts';
import * as tokens from './identity/tokens.operations.ts';
import * as deliveries from './notifications/deliveries.operations.ts';
import * as members from './organizations/members.operations.ts';
import * as organizations from './organizations/organizations.operations.ts';
import * as projects from './projects/projects.operations.ts';
import * as annotatePage from './studio/annotations/annotate-page.operations.ts';
import * as commitChanges from './studio/changes/commit-changes.operations.ts';
import * as revert from './studio/changes/revert.operations.ts';
import * as checkPublish from './studio/compare/check-publish.operations.ts';
import * as compare from './studio/compare/compare.operations.ts';
import * as schemas from './studio/content/schemas.operations.ts';
import * as deployments from './studio/deployments/deployments.operations.ts';
import * as getLog from './studio/deployments/get-log.operations.ts';
import * as reportDeployment from './studio/deployments/report-deployment.operations.ts';
import * as drafts from './studio/drafts/drafts.operations.ts';
import * as changeEntries from './studio/entries/change-entries.operations.ts';
import * as entries from './studio/entries/entries.operations.ts';
import * as entryTemplate from './studio/entries/entry-template.operations.ts';
import * as references from './studio/entries/references.operations.ts';
import * as environments from './studio/environments/environments.operations.ts';
import * as previewBranch from './studio/environments/preview-branch.operations.ts';
import * as deletedMedia from './studio/media/deleted-media.operations.ts';
import * as media from './studio/media/media.operations.ts';
import * as uploadMedia from './studio/media/upload-media.operations.ts';
import * as mergeBranches from './studio/merge/merge-branches.operations.ts';
import * as previewLink from './studio/previews/preview-link.operations.ts';
import * as mergePull from './studio/pulls/merge-pull.operations.ts';
import * as pulls from './studio/pulls/pulls.operations.ts';
import * as writePull from './studio/pulls/write-pull.operations.ts';
import * as blame from './studio/repository/blame.operations.ts';
import * as branchMoves from './studio/repository/branch-moves.operations.ts';
import * as branches from './studio/repository/branches.operations.ts';
import * as commits from './studio/repository/commits.operations.ts';
import * as files from './studio/repository/files.operations.ts';
import * as gitAccess from './studio/repository/git-access.operations.ts';
import * as repository from './studio/repository/repository.operations.ts';
import * as routePatterns from './studio/routes/route-patterns.operations.ts';
import * as upstream from './studio/upstream/upstream.operations.ts';
import * as views from './studio/views/views.operations.ts';
import * as readChanges from './studio/watch/read-changes.operations.ts';
import * as account from './users/account.operations.ts';
import * as openid from './users/openid.operations.ts';
import * as setup from './users/setup.operations.ts';
import * as signIn from './users/sign-in.operations.ts';
import * as users from './users/users.operations.ts';
import * as deliveriesDeliveries from './workflows/deliveries/deliveries.operations.ts';
import * as changeExecutions from './workflows/executions/change-executions.operations.ts';
import * as deadLetters from './workflows/executions/dead-letters.operations.ts';
import * as executionEvents from './workflows/executions/execution-events.operations.ts';
import * as executions from './workflows/executions/executions.operations.ts';
import * as secrets from './workflows/secrets.operations.ts';
import * as triggerSecret from './workflows/triggers/trigger-secret.operations.ts';
import * as triggers from './workflows/triggers/triggers.operations.ts';
import * as versions from './workflows/versions.operations.ts';
import * as workflows from './workflows/workflows.operations.ts';

const modules: readonly Readonly<Record<string, unknown>>[] = [
  audit,
  conversations,
  suggestions,
  assistantModel,
  backupProject,
  checkProject,
  restoreBackup,
  crawlers,
  testUrl,
  changeRuns,
  runs,
  schedules,
  brokenLinks,
  diffSnapshots,
  exportWarc,
  importSnapshot,
  writeImport,
  snapshots,
  verification,
  me,
  tokens,
  deliveries,
  members,
  organizations,
  account,
  openid,
  setup,
  signIn,
  users,
  projects,
  commitChanges,
  revert,
  drafts,
  compare,
  checkPublish,
  schemas,
  deployments,
  getLog,
  reportDeployment,
  changeEntries,
  entries,
  entryTemplate,
  references,
  environments,
  previewBranch,
  media,
  deletedMedia,
  views,
  uploadMedia,
  mergeBranches,
  annotatePage,
  previewLink,
  mergePull,
  pulls,
  writePull,
  blame,
  branchMoves,
  branches,
  commits,
  files,
  gitAccess,
  repository,
  routePatterns,
  upstream,
  readChanges,
  deliveriesDeliveries,
  changeExecutions,
  deadLetters,
  executionEvents,
  executions,
  secrets,
  triggerSecret,
  triggers,
  versions,
  workflows,
];

const isOperation = (value: unknown): value is AnyOperation =>
  typeof value === 'object' && value !== null && 'scope' in value && 'execute' in value;

/**
 * Every operation there is, by the files that declare them. REST adds URLs to them, GraphQL fields, and steps of workflows call the ones that
 * `isForSteps` admits.
 */
export const catalogue: readonly AnyOperation[] = modules.flatMap((module) =>
  Object.values(module).filter(isOperation),
);

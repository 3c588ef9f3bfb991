import 'reflect-metadata';
import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';
import { buildSchemaSync } from 'type-graphql';
import { CrawlerEdgesResolver } from './resolvers/crawlers/crawler-edges.resolver.ts';
import { CrawlersResolver } from './resolvers/crawlers/crawlers.resolver.ts';
import { NotificationsResolver } from './resolvers/crawlers/notifications.resolver.ts';
import { RunProgressResolver } from './resolvers/crawlers/run-progress.resolver.ts';
import { CrawlerRunsResolver, RunEdgesResolver } from './resolvers/crawlers/runs.resolver.ts';
import { ScheduleFiresResolver, SchedulesResolver } from './resolvers/crawlers/schedules.resolver.ts';
import { SnapshotWritesResolver } from './resolvers/crawlers/snapshot-writes.resolver.ts';
import {
  CrawlerSnapshotsResolver,
  RunBrokenLinksResolver,
  SnapshotEdgesResolver,
} from './resolvers/crawlers/snapshots.resolver.ts';
import { CrawlerVerificationResolver } from './resolvers/crawlers/verification.resolver.ts';
import { AuditResolver, MeResolver, TokensResolver } from './resolvers/identity.resolver.ts';
import { OrganizationsResolver } from './resolvers/organizations.resolver.ts';
import { OrganizationProjectsResolver, ProjectsResolver } from './resolvers/projects.resolver.ts';
import { BranchEdgesResolver, BranchesResolver } from './resolvers/studio/branches.resolver.ts';
import { ChangesResolver, CompareResolver, RevertResolver } from './resolvers/studio/changes.resolver.ts';
import { CollectionResolver, StudioCollectionsResolver } from './resolvers/studio/collections.resolver.ts';
import {
  BranchEnvironmentsResolver,
  DeploymentEdgesResolver,
  DeploymentJobEdgesResolver,
  DeploymentsResolver,
  EnvironmentEdgesResolver,
  PullDeploymentsResolver,
  PullSummaryDeploymentsResolver,
} from './resolvers/studio/deployments.resolver.ts';
import { DeploymentsLiveResolver } from './resolvers/studio/deployments-live.resolver.ts';
import {
  EntryEdgesResolver,
  EntryListsResolver,
  EntrySummaryEdgesResolver,
  EntryWritesResolver,
  SearchResolver,
} from './resolvers/studio/entries.resolver.ts';
import {
  DeploymentPreviewResolver,
  EntryPreviewResolver,
  EnvironmentPreviewResolver,
  EnvironmentsResolver,
} from './resolvers/studio/environments.resolver.ts';
import { LiveResolver } from './resolvers/studio/live.resolver.ts';
import { MediaResolver } from './resolvers/studio/media.resolver.ts';
import { MergesResolver } from './resolvers/studio/merges.resolver.ts';
import { MirrorsResolver } from './resolvers/studio/mirrors.resolver.ts';
import {
  PullConflictsResolver,
  PullEdgesResolver,
  PullSummaryEdgesResolver,
  PullsResolver,
} from './resolvers/studio/pulls.resolver.ts';
import { RoutesResolver } from './resolvers/studio/routes.resolver.ts';
import { ProjectStudioResolver, StudioResolver } from './resolvers/studio/studio.resolver.ts';
import { DeadLettersResolver } from './resolvers/workflows/dead-letters.resolver.ts';
import { ExecutionEventsResolver } from './resolvers/workflows/execution-events.resolver.ts';
import {
  ExecutionEdgesResolver,
  ExecutionsResolver,
  WorkflowExecutionsResolver,
} from './resolvers/workflows/executions.resolver.ts';
import { TriggersResolver, WorkflowDeliveriesResolver } from './resolvers/workflows/triggers.resolver.ts';
import { WorkflowEdgesResolver } from './resolvers/workflows/workflow-edges.resolver.ts';
import { WorkflowsResolver } from './resolvers/workflows/workflows.resolver.ts';

const resolvers = [
  MeResolver,
  OrganizationsResolver,
  ProjectsResolver,
  OrganizationProjectsResolver,
  TokensResolver,
  AuditResolver,
  ProjectStudioResolver,
  StudioResolver,
  StudioCollectionsResolver,
  CollectionResolver,
  EntryEdgesResolver,
  EntrySummaryEdgesResolver,
  EntryListsResolver,
  EntryWritesResolver,
  MediaResolver,
  BranchesResolver,
  BranchEdgesResolver,
  CompareResolver,
  MergesResolver,
  MirrorsResolver,
  RevertResolver,
  RoutesResolver,
  PullsResolver,
  PullEdgesResolver,
  PullSummaryEdgesResolver,
  PullConflictsResolver,
  SearchResolver,
  EnvironmentsResolver,
  EnvironmentEdgesResolver,
  DeploymentsResolver,
  DeploymentEdgesResolver,
  DeploymentJobEdgesResolver,
  BranchEnvironmentsResolver,
  PullDeploymentsResolver,
  PullSummaryDeploymentsResolver,
  EnvironmentPreviewResolver,
  DeploymentPreviewResolver,
  EntryPreviewResolver,
  ChangesResolver,
  LiveResolver,
  DeploymentsLiveResolver,
  CrawlersResolver,
  CrawlerRunsResolver,
  RunEdgesResolver,
  RunProgressResolver,
  CrawlerVerificationResolver,
  CrawlerEdgesResolver,
  CrawlerSnapshotsResolver,
  SnapshotEdgesResolver,
  RunBrokenLinksResolver,
  SnapshotWritesResolver,
  SchedulesResolver,
  ScheduleFiresResolver,
  NotificationsResolver,
  WorkflowsResolver,
  WorkflowEdgesResolver,
  WorkflowExecutionsResolver,
  ExecutionsResolver,
  ExecutionEdgesResolver,
  ExecutionEventsResolver,
  DeadLettersResolver,
  TriggersResolver,
  WorkflowDeliveriesResolver,
] as const;

const unused = () => {
  throw new Error('Every subscription names its own source');
};
/** The builder requires one for schemas with subscriptions. */
const pubSub = { publish: unused, subscribe: unused };

let built: GraphQLSchema | undefined;

/** The schema, built once in a process. Inputs are validated by the operations they are for. */
export function buildGraphqlSchema(): GraphQLSchema {
  built ??= buildSchemaSync({ resolvers: [...resolvers], validate: false, skipCheck: true, pubSub });
  return built;
}

/** The schema as text, in an order that does not depend on that of our files: what `schema.graphql` holds. */
export function schemaText(): string {
  return `${printSchema(lexicographicSortSchema(buildGraphqlSchema()))}\n`;
}

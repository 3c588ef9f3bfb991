import 'reflect-metadata';
import type { GraphQLSchema } from 'graphql';
import { buildSchemaSync } from 'type-graphql';
import { AuditResolver } from './resolvers/audit.resolver.ts';
import { MeResolver } from './resolvers/me.resolver.ts';
import { OrganizationsResolver } from './resolvers/organizations.resolver.ts';
import { OrganizationProjectsResolver, ProjectsResolver } from './resolvers/projects.resolver.ts';
import { BranchEdgesResolver, BranchesResolver } from './resolvers/studio/branches.resolver.ts';
import {
  CollectionResolver,
  EntryEdgesResolver,
  EntryHistoryResolver,
  EntrySummaryEdgesResolver,
  StudioCollectionsResolver,
} from './resolvers/studio/collections.resolver.ts';
import { CompareResolver } from './resolvers/studio/compare.resolver.ts';
import { EntryWritesResolver } from './resolvers/studio/entry-writes.resolver.ts';
import { MediaResolver } from './resolvers/studio/media.resolver.ts';
import { MergesResolver } from './resolvers/studio/merges.resolver.ts';
import { MirrorsResolver } from './resolvers/studio/mirrors.resolver.ts';
import { PullEdgesResolver, PullsResolver } from './resolvers/studio/pulls.resolver.ts';
import { ProjectStudioResolver, StudioResolver } from './resolvers/studio/studio.resolver.ts';
import { TokensResolver } from './resolvers/tokens.resolver.ts';

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
  EntryHistoryResolver,
  EntryWritesResolver,
  MediaResolver,
  BranchesResolver,
  BranchEdgesResolver,
  CompareResolver,
  MergesResolver,
  MirrorsResolver,
  PullsResolver,
  PullEdgesResolver,
] as const;

let built: GraphQLSchema | undefined;

/** The schema, built once in a process. Inputs are validated by the operations they are for. */
export function buildGraphqlSchema(): GraphQLSchema {
  built ??= buildSchemaSync({ resolvers: [...resolvers], validate: false, skipCheck: true });
  return built;
}

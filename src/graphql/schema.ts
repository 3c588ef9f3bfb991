import 'reflect-metadata';
import type { GraphQLSchema } from 'graphql';
import { buildSchemaSync } from 'type-graphql';
import { AuditResolver } from './resolvers/audit.resolver.ts';
import { MeResolver } from './resolvers/me.resolver.ts';
import { OrganizationsResolver } from './resolvers/organizations.resolver.ts';
import { OrganizationProjectsResolver, ProjectsResolver } from './resolvers/projects.resolver.ts';
import { TokensResolver } from './resolvers/tokens.resolver.ts';

let built: GraphQLSchema | undefined;

/** The schema, built once in a process. Inputs are validated by the operations they are for. */
export function buildGraphqlSchema(): GraphQLSchema {
  built ??= buildSchemaSync({
    resolvers: [
      MeResolver,
      OrganizationsResolver,
      ProjectsResolver,
      OrganizationProjectsResolver,
      TokensResolver,
      AuditResolver,
    ],
    validate: false,
    skipCheck: true,
  });
  return built;
}

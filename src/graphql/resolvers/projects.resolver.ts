import { Arg, Args, type ClassType, Ctx, FieldResolver, Query, Resolver, Root } from 'type-graphql';
import {
  createProject,
  deleteProject,
  getProject,
  listProjects,
  project,
  restoreProject,
  updateProject,
} from '../../domain/projects/projects.operations.ts';
import { mapConnection } from '../connection.ts';
import type { GraphqlContext, ListArguments } from '../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../types/operations.ts';
import { Command } from './command.ts';
import { lazyRecord } from './lazy-record.ts';
import { Organization, type OrganizationParent } from './organizations.resolver.ts';
import { OrganizationArgs, type Placed, ProjectArgs } from './places.ts';

export const Project: ClassType = outputOf(getProject, { name: 'Project' });
const ProjectConnection = connectionOf(listProjects);
const ListProjectsArgs = argsOf(listProjects);
const CreateProjectInput = inputOf(createProject);
const UpdateProjectInput = inputOf(updateProject);
const RestoreProjectInput = inputOf(restoreProject);

/** What a project's edges find in their parent. */
export type ProjectParent = Placed<ProjectArgs>;

/** A project's record with its place. */
const placed = <Record extends { machine_name: string }>({ organization }: OrganizationArgs, record: Record) => ({
  ...record,
  at: { organization, project: record.machine_name },
});

@Resolver(() => Project)
export class ProjectsResolver {
  @Query(() => Project, { nullable: true, description: 'A project and what lies below it' })
  project(@Args(() => ProjectArgs) { organization, project: name }: ProjectArgs, @Ctx() context: GraphqlContext) {
    context.requireActor();
    const at = { organization, project: name };
    return { ...lazyRecord(project, () => context.run(getProject, at)), at };
  }

  @Command(() => Project, createProject)
  async createProject(
    @Args(() => OrganizationArgs) at: OrganizationArgs,
    @Arg('input', () => CreateProjectInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placed(at, await context.run(createProject, { ...at, ...input }));
  }

  @Command(() => Project, updateProject)
  async updateProject(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => UpdateProjectInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placed(at, await context.run(updateProject, { ...at, ...input }));
  }

  @Command(() => Boolean, deleteProject)
  async deleteProject(@Args(() => ProjectArgs) at: ProjectArgs, @Ctx() context: GraphqlContext) {
    await context.run(deleteProject, { ...at });
    return true;
  }

  @Command(() => Project, restoreProject)
  async restoreProject(
    @Args(() => OrganizationArgs) at: OrganizationArgs,
    @Arg('input', () => RestoreProjectInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return placed(at, await context.run(restoreProject, { ...at, ...input }));
  }
}

/** The edge from an organisation to its projects. */
@Resolver(() => Organization)
export class OrganizationProjectsResolver {
  @FieldResolver(() => ProjectConnection, { nullable: true, description: listProjects.summary })
  async projects(
    @Root() { at }: OrganizationParent,
    @Args(() => ListProjectsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return mapConnection(await context.list(listProjects, { ...at, ...args }), (record) => placed(at, record));
  }
}

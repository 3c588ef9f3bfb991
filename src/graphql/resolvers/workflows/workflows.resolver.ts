import { Arg, Args, Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import { z } from 'zod';
import { publishVersion } from '../../../domain/workflows/versions.operations.ts';
import {
  createWorkflow,
  deleteWorkflow,
  disableWorkflow,
  enableWorkflow,
  getWorkflow,
  listWorkflows,
  updateWorkflow,
  validateWorkflow,
} from '../../../domain/workflows/workflows.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { Project, type ProjectParent } from '../projects.resolver.ts';
import { Workflow } from './workflows.types.ts';

const WorkflowConnection = connectionOf(listWorkflows);
const DefinitionCheck = outputOf(validateWorkflow);
const ListWorkflowsArgs = argsOf(listWorkflows);
const ValidateWorkflowArgs = argsOf(validateWorkflow);
const CreateWorkflowInput = inputOf(createWorkflow);
const UpdateWorkflowInput = inputOf(updateWorkflow);
const DeleteWorkflowInput = inputOf(deleteWorkflow);
const PublishVersionInput = inputOf(publishVersion);
const SetWorkflowEnabledInput = inputOf(enableWorkflow, {
  verb: 'setWorkflowEnabled',
  choice: { enabled: z.boolean().describe('Whether its triggers start it') },
});

const switchWorkflow = ({ enabled }: { enabled?: unknown }) => (enabled === true ? enableWorkflow : disableWorkflow);

/** What is run when something happens. */
@Resolver(() => Project)
export class WorkflowsResolver {
  @FieldResolver(() => WorkflowConnection, { nullable: true, description: listWorkflows.summary })
  async workflows(
    @Root() { at }: ProjectParent,
    @Args(() => ListWorkflowsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return mapConnection(await context.list(listWorkflows, { ...at, ...args }), (record) => ({ ...record, at }));
  }

  @FieldResolver(() => Workflow, { nullable: true, description: getWorkflow.summary })
  async workflow(@Root() { at }: ProjectParent, @Arg('id', () => String) id: string, @Ctx() context: GraphqlContext) {
    return { ...(await context.run(getWorkflow, { ...at, workflow: id })), at };
  }

  @FieldResolver(() => DefinitionCheck, { nullable: true, description: validateWorkflow.summary })
  validate_workflow(
    @Root() { at }: ProjectParent,
    @Args(() => ValidateWorkflowArgs) args: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(validateWorkflow, { ...at, ...args });
  }

  @Command(() => Workflow, createWorkflow)
  async createWorkflow(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CreateWorkflowInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return { ...(await context.run(createWorkflow, { ...at, ...input })), at };
  }

  @Command(() => Workflow, updateWorkflow)
  async updateWorkflow(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => UpdateWorkflowInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return { ...(await context.run(updateWorkflow, { ...at, ...input })), at };
  }

  @Command(() => Workflow, switchWorkflow, 'Enable the triggers of a workflow, or not')
  async setWorkflowEnabled(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => SetWorkflowEnabledInput) { enabled, ...input }: { enabled: boolean },
    @Ctx() context: GraphqlContext,
  ) {
    return { ...(await context.run(switchWorkflow({ enabled }), { ...at, ...input })), at };
  }

  @Command(() => Boolean, deleteWorkflow)
  async deleteWorkflow(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => DeleteWorkflowInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    await context.run(deleteWorkflow, { ...at, ...input });
    return true;
  }

  @Command(() => Workflow, publishVersion)
  async publishWorkflowVersion(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => PublishVersionInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return { ...(await context.run(publishVersion, { ...at, ...input })), at };
  }
}

import { Arg, Args, Ctx, FieldResolver, Int, Resolver, Root } from 'type-graphql';
import {
  deleteWorkflowSecret,
  listWorkflowSecrets,
  putWorkflowSecret,
} from '../../../domain/workflows/secrets.operations.ts';
import { getVersion, listVersions } from '../../../domain/workflows/versions.operations.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { Workflow, type WorkflowParent } from './workflows.types.ts';

const WorkflowVersion = outputOf(getVersion);
const WorkflowVersionConnection = connectionOf(listVersions);
const WorkflowSecretConnection = connectionOf(listWorkflowSecrets);
const ListSecretsArgs = argsOf(listWorkflowSecrets, ['workflow']);
const ListVersionsArgs = argsOf(listVersions, ['workflow']);
const PutWorkflowSecretInput = inputOf(putWorkflowSecret);
const DeleteWorkflowSecretInput = inputOf(deleteWorkflowSecret);

/** What a workflow has had as definitions, and what its steps may use. */
@Resolver(() => Workflow)
export class WorkflowEdgesResolver {
  @FieldResolver(() => WorkflowVersionConnection, { nullable: true, description: listVersions.summary })
  versions(
    @Root() { at, id }: WorkflowParent,
    @Args(() => ListVersionsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listVersions, { ...at, ...args, workflow: id });
  }

  @FieldResolver(() => WorkflowVersion, { nullable: true, name: 'version_number', description: getVersion.summary })
  version_number(
    @Root() { at, id }: WorkflowParent,
    @Arg('n', () => Int) number: number,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(getVersion, { ...at, workflow: id, number });
  }

  @FieldResolver(() => WorkflowSecretConnection, { nullable: true, description: listWorkflowSecrets.summary })
  secrets(
    @Root() { at, id }: WorkflowParent,
    @Args(() => ListSecretsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listWorkflowSecrets, { ...at, ...args, workflow: id });
  }

  @Command(() => Boolean, putWorkflowSecret)
  async putWorkflowSecret(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => PutWorkflowSecretInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    await context.run(putWorkflowSecret, { ...at, ...input });
    return true;
  }

  @Command(() => Boolean, deleteWorkflowSecret)
  async deleteWorkflowSecret(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => DeleteWorkflowSecretInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    await context.run(deleteWorkflowSecret, { ...at, ...input });
    return true;
  }
}

import type { GraphQLResolveInfo } from 'graphql';
import { Arg, Args, Ctx, FieldResolver, Info, Resolver, Root } from 'type-graphql';
import {
  createBranch,
  deleteBranch,
  getBranch,
  listBranches,
} from '../../../domain/studio/repository/branches.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { selects, selectsInItems } from './selected-fields.ts';
import { Branch, Studio, type StudioParent } from './studio.types.ts';

const BranchConnection = connectionOf(listBranches);
const ListBranchesArgs = argsOf(listBranches, ['compare']);
const CreateBranchInput = inputOf(createBranch);
const DeleteBranchInput = inputOf(deleteBranch);

/** Fields that need the histories of two branches compared. */
const distance = ['ahead_by', 'behind_by'];

@Resolver(() => Studio)
export class BranchesResolver {
  @FieldResolver(() => BranchConnection, { nullable: true, description: listBranches.summary })
  async branches(
    @Root() { at }: StudioParent,
    @Args(() => ListBranchesArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
    @Info() info: GraphQLResolveInfo,
  ) {
    const compare = selectsInItems(info, ...distance);
    const page = await context.list(listBranches, { ...at, ...args, compare });
    return mapConnection(page, (record) => ({ ...record, at }));
  }

  @FieldResolver(() => Branch, { nullable: true, description: getBranch.summary })
  async branch(
    @Root() { at }: StudioParent,
    @Arg('name', () => String) name: string,
    @Ctx() context: GraphqlContext,
    @Info() info: GraphQLResolveInfo,
  ) {
    const compare = selects(info, ...distance);
    return { ...(await context.run(getBranch, { ...at, name, compare })), at };
  }

  @Command(() => Branch, createBranch)
  async createBranch(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => CreateBranchInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return { ...(await context.run(createBranch, { ...at, ...input })), at };
  }

  @Command(() => Boolean, deleteBranch)
  async deleteBranch(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => DeleteBranchInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    await context.run(deleteBranch, { ...at, ...input });
    return true;
  }
}

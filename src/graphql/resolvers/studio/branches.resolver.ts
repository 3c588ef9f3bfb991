import type { GraphQLResolveInfo } from 'graphql';
import { Arg, Args, Ctx, Extensions, FieldResolver, Info, Resolver, Root } from 'type-graphql';
import { compareBranches } from '../../../domain/studio/compare/compare.operations.ts';
import { listPullsOfBranches } from '../../../domain/studio/pulls/pulls.operations.ts';
import {
  createBranch,
  deleteBranch,
  getBranch,
  getBranches,
  listBranches,
} from '../../../domain/studio/repository/branches.operations.ts';
import { getCommits, listCommits } from '../../../domain/studio/repository/commits.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { selects, selectsInItems } from './selected-fields.ts';
import { Branch, type BranchParent, PullSummary, Studio, type StudioParent } from './studio.types.ts';

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

const Commit = outputOf(listCommits);
const Comparison = outputOf(compareBranches);
const CommitConnection = connectionOf(listCommits);
const HistoryArgs = argsOf(listCommits, ['branch', 'ref', 'collection', 'slug']);

/** Names the loader of one kind of thing in one project. */
const loaderOf = (what: string, { organization, project }: ProjectArgs) => `${what} ${organization}/${project}`;

/** A branch by its name, fetched together with the others of a document; null when it does not exist. */
export async function branchNamed(context: GraphqlContext, at: ProjectArgs, name: string) {
  const branches = context.loader(loaderOf('branches', at), (names) =>
    context.run(getBranches, { ...at, names: [...names] }),
  );
  const record = await branches.load(name);
  return record && { ...record, at };
}

@Resolver(() => Branch)
export class BranchEdgesResolver {
  @FieldResolver(() => Commit, { nullable: true, description: 'The commit it points to' })
  commit(@Root() { at, commit }: BranchParent, @Ctx() context: GraphqlContext) {
    const commits = context.loader(loaderOf('commits', at), (shas) =>
      context.run(getCommits, { ...at, shas: [...shas] }),
    );
    return commits.load(commit);
  }

  @FieldResolver(() => CommitConnection, { nullable: true, description: listCommits.summary })
  commits(
    @Root() { at, name }: BranchParent,
    @Args(() => HistoryArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listCommits, { ...at, branch: name, ...args });
  }

  @Extensions({ cost: 20 })
  @FieldResolver(() => Comparison, { nullable: true, description: 'What it has that the default branch lacks' })
  async compare_to_default(@Root() { at, name }: BranchParent, @Ctx() context: GraphqlContext) {
    // The default branch is first.
    const { items } = await context.run(listBranches, { ...at, per_page: 1 });
    return context.run(compareBranches, { ...at, base: items[0]?.name ?? name, head: name });
  }

  @FieldResolver(() => [PullSummary], { nullable: true, description: 'Open pull requests whose head it is' })
  async pulls(@Root() { at, name }: BranchParent, @Ctx() context: GraphqlContext) {
    const pulls = context.loader(loaderOf('pulls', at), (branches) =>
      context.run(listPullsOfBranches, { ...at, branches: [...branches] }),
    );
    return (await pulls.load(name)).map((record) => ({ ...record, at }));
  }
}

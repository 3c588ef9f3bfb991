import { Args, Ctx, Extensions, FieldResolver, Resolver, Root } from 'type-graphql';
import { compareBranches } from '../../../domain/studio/compare/compare.operations.ts';
import { listPullsOfBranches } from '../../../domain/studio/pulls/pulls.operations.ts';
import { getBranches, listBranches } from '../../../domain/studio/repository/branches.operations.ts';
import { getCommits, listCommits } from '../../../domain/studio/repository/commits.operations.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, outputOf } from '../../types/operations.ts';
import type { ProjectArgs } from '../places.ts';
import { Branch, type BranchParent, PullSummary } from './studio.types.ts';

const Commit = outputOf(listCommits);
const Comparison = outputOf(compareBranches);
const CommitConnection = connectionOf(listCommits);
const HistoryArgs = argsOf(listCommits, ['branch', 'ref', 'collection', 'slug']);

/** Names the loader of one kind of thing in one project. */
const loaderOf = (what: string, { organization, project }: ProjectArgs) => `${what} ${organization}/${project}`;

/** A branch by its name, fetched together with the others a document asks for; null when there is none. */
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
    // The default branch comes first of all.
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

import { Args, Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import { compareBranches } from '../../../domain/studio/compare/compare.operations.ts';
import type { GraphqlContext } from '../../context.ts';
import { argsOf, outputOf } from '../../types/operations.ts';
import { Studio, type StudioParent } from './studio.types.ts';

const Comparison = outputOf(compareBranches);
const CompareArgs = argsOf(compareBranches);

@Resolver(() => Studio)
export class CompareResolver {
  @FieldResolver(() => Comparison, { nullable: true, description: compareBranches.summary })
  compare(@Root() { at }: StudioParent, @Args(() => CompareArgs) args: object, @Ctx() context: GraphqlContext) {
    return context.run(compareBranches, { ...at, ...args });
  }
}

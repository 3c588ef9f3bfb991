import { Ctx, Query, Resolver } from 'type-graphql';
import { getMe } from '../../domain/identity/me.operations.ts';
import type { GraphqlContext } from '../context.ts';
import { outputOf } from '../types/operations.ts';

const Me = outputOf(getMe);

@Resolver()
export class MeResolver {
  @Query(() => Me, { nullable: true, description: getMe.summary })
  me(@Ctx() context: GraphqlContext) {
    return context.run(getMe, {});
  }
}

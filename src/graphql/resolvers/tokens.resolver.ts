import { Arg, Args, Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import { createToken, listTokens, revokeToken } from '../../domain/identity/tokens.operations.ts';
import type { GraphqlContext, ListArguments } from '../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../types/operations.ts';
import { Command } from './command.ts';
import { Organization, type OrganizationParent } from './organizations.resolver.ts';
import { OrganizationArgs } from './places.ts';

const ApiTokenConnection = connectionOf(listTokens);
const ListTokensArgs = argsOf(listTokens);
const CreatedToken = outputOf(createToken);
const CreateTokenInput = inputOf(createToken);
const RevokedToken = outputOf(revokeToken);
const RevokeTokenInput = inputOf(revokeToken);

@Resolver(() => Organization)
export class TokensResolver {
  @FieldResolver(() => ApiTokenConnection, { nullable: true, description: listTokens.summary })
  tokens(
    @Root() { at }: OrganizationParent,
    @Args(() => ListTokensArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listTokens, { ...at, ...args });
  }

  @Command(() => CreatedToken, createToken)
  createToken(
    @Args(() => OrganizationArgs) at: OrganizationArgs,
    @Arg('input', () => CreateTokenInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(createToken, { ...at, ...input });
  }

  @Command(() => RevokedToken, revokeToken)
  revokeToken(
    @Args(() => OrganizationArgs) at: OrganizationArgs,
    @Arg('input', () => RevokeTokenInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(revokeToken, { ...at, ...input });
  }
}

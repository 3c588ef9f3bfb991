import { Arg, Args, Ctx, FieldResolver, Query, Resolver, Root } from 'type-graphql';
import { listAudit } from '../../domain/audit/audit.operations.ts';
import { getMe } from '../../domain/identity/me.operations.ts';
import { createToken, listTokens, revokeToken } from '../../domain/identity/tokens.operations.ts';
import type { GraphqlContext, ListArguments } from '../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../types/operations.ts';
import { Command } from './command.ts';
import { Organization, type OrganizationParent } from './organizations.resolver.ts';
import { OrganizationArgs } from './places.ts';

const Me = outputOf(getMe);

@Resolver()
export class MeResolver {
  @Query(() => Me, { nullable: true, description: getMe.summary })
  me(@Ctx() context: GraphqlContext) {
    return context.run(getMe, {});
  }
}

const AuditEntryConnection = connectionOf(listAudit);
const ListAuditArgs = argsOf(listAudit);

@Resolver(() => Organization)
export class AuditResolver {
  @FieldResolver(() => AuditEntryConnection, { nullable: true, description: listAudit.summary })
  audit(
    @Root() { at }: OrganizationParent,
    @Args(() => ListAuditArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listAudit, { ...at, ...args });
  }
}

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

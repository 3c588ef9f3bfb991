import { Args, Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import { listAudit } from '../../domain/audit/audit.operations.ts';
import type { GraphqlContext, ListArguments } from '../context.ts';
import { argsOf, connectionOf } from '../types/operations.ts';
import { Organization, type OrganizationParent } from './organizations.resolver.ts';

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

import { Arg, Args, type ClassType, Ctx, Query, Resolver } from 'type-graphql';
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  organization,
  updateOrganization,
} from '../../domain/organizations/organizations.operations.ts';
import type { GraphqlContext, ListArguments } from '../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../types/operations.ts';
import { Command } from './command.ts';
import { lazyRecord } from './lazy-record.ts';
import { OrganizationArgs, type Placed } from './places.ts';

export const Organization: ClassType = outputOf(getOrganization);
const OrganizationSummaryConnection = connectionOf(listOrganizations);
const ListOrganizationsArgs = argsOf(listOrganizations);
const CreateOrganizationInput = inputOf(createOrganization);
const UpdateOrganizationInput = inputOf(updateOrganization);

/** What an organisation's edges find in their parent. */
export type OrganizationParent = Placed<OrganizationArgs>;

@Resolver(() => Organization)
export class OrganizationsResolver {
  @Query(() => OrganizationSummaryConnection, { nullable: true, description: listOrganizations.summary })
  organizations(@Args(() => ListOrganizationsArgs) args: ListArguments, @Ctx() context: GraphqlContext) {
    return context.list(listOrganizations, { ...args });
  }

  @Query(() => Organization, { nullable: true, description: 'An organisation and what lies below it' })
  organization(@Args(() => OrganizationArgs) { organization: name }: OrganizationArgs, @Ctx() context: GraphqlContext) {
    context.requireActor();
    const at = { organization: name };
    return { ...lazyRecord(organization, () => context.run(getOrganization, at)), at };
  }

  @Command(() => Organization, createOrganization)
  async createOrganization(@Arg('input', () => CreateOrganizationInput) input: object, @Ctx() context: GraphqlContext) {
    const made = await context.run(createOrganization, { ...input });
    return { ...made, at: { organization: made.machine_name } };
  }

  @Command(() => Organization, updateOrganization)
  async updateOrganization(
    @Args(() => OrganizationArgs) at: OrganizationArgs,
    @Arg('input', () => UpdateOrganizationInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return { ...(await context.run(updateOrganization, { ...at, ...input })), at };
  }
}

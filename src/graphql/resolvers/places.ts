import { ArgsType, Field } from 'type-graphql';

/** Where an organisation's operations act. */
@ArgsType()
export class OrganizationArgs {
  @Field(() => String, { description: 'Machine name of the organisation' })
  organization!: string;
}

/** Where a project's operations act. */
@ArgsType()
export class ProjectArgs extends OrganizationArgs {
  @Field(() => String, { description: 'Machine name of the project' })
  project!: string;
}

/** The place of an object, for the fields below it; not a field itself. */
export interface Placed<Place> {
  at: Place;
}

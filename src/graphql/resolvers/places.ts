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

/** What the fields below an object need to know of where it is; not a field itself. */
export interface Placed<Place> {
  at: Place;
}
